//! scratch
use pairflow_testkit::kill::*;
use std::path::Path;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let t = std::time::Instant::now();
    let program = Path::new(&a[1]);
    let n: u64 = a.get(2).map_or(0, |x| x.parse().unwrap_or(0));
    match a[0].as_str() {
        "random" => show(kill_at_random(program, Kills { total: n, seed: a.get(3).map_or(1, |x| x.parse().unwrap()), workers: 2 })),
        "kill" => show(kill_everywhere(program, &Verb::ALL)),
        "fail" => show(fail_everywhere(program, &Verb::ALL, &a[2].split(',').collect::<Vec<_>>())),
        "threads" => println!("{:?}", race_threads(n)),
        "processes" => println!("{:?}", race_processes(program, n)),
        _ => println!("{:?}", crowd(64, n as usize)),
    }
    println!("{:?}", t.elapsed());
}
fn show<T: std::fmt::Display>(r: Result<T, String>) { match r { Ok(t) => println!("{t}"), Err(e) => println!("BROKEN {e}") } }
