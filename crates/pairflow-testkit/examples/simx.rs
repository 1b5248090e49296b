//! scratch
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let t = std::time::Instant::now();
    if a.len() == 1 { println!("{:?}", pairflow_testkit::sim::live(a[0], 100).map(|t| t.to_string())); return; }
    match pairflow_testkit::sim::run(pairflow_testkit::sim::Seeds { first: a[0], count: a[1], steps: 100, threads: a[2] as usize }) {
        Ok(t) => println!("{t}"), Err(e) => println!("{e}") }
    println!("{:.0}/s", a[1] as f64 / t.elapsed().as_secs_f64());
}
