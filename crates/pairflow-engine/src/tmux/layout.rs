//! Where panes lie: the first one on top over the whole width, the others side by side beneath.

use super::argv::Script;
use super::error::TmuxError;
use super::server::{About, Tmux};
use super::target::PaneId;

/// How many lines the pane on top gets, with the one that names it, as tmux finds out whenever the window changes its
/// size: a third, within limits.
const TOP: &str =
    "#{?#{e|<:#{window_height},24},8,#{?#{e|>:#{window_height},30},11,#{e|+:1,#{e|/:#{window_height},3}}}}";

const LINE: &str = "#{pane_id}:#{pane_active}:#{window_id}:#{window_zoomed_flag}:#{session_attached}:\
    #{default-size}:#{window_width}x#{window_height}";

impl Tmux {
    /// Arranges the window in which the first pane of `order` is: that pane on top, the others side by side beneath, in
    /// this order; panes that are not named come last. Which pane is active, and whether it is zoomed, stays.
    pub fn layout(&self, order: &[PaneId]) -> Result<(), TmuxError> {
        let Some(top) = order.first() else { return Ok(()) };
        self.make_room(top)?;
        let window = self.window(top)?;
        let mut script = swaps(&window.panes, order);
        script = script.then(["set-option", "-w", "-t", &window.id, "other-pane-height", "0"]);
        script = script.then(["set-option", "-wF", "-t", &window.id, "main-pane-height", TOP]);
        script = script.then(["select-layout", "-t", &window.id, "main-horizontal"]);
        script = script.then(["set-hook", "-w", "-t", &window.id, "window-resized", &again(&window.id)]);
        if let Some(zoomed) = window.zoomed {
            script = script.then(["resize-pane", "-Z", "-t", zoomed.as_str()]);
        }
        self.call_at(top, &script, About::default()).map(drop)
    }

    /// Gives the window of `pane` its own size back if nobody looks at it. The last one who did may have had a small
    /// screen.
    pub(super) fn make_room(&self, pane: &PaneId) -> Result<(), TmuxError> {
        let window = self.window(pane)?;
        let Some((width, height)) = window.resize else { return Ok(()) };
        let resize = ["resize-window", "-t", &window.id, "-x", &width.to_string(), "-y", &height.to_string()];
        // Resizing makes the size a fixed one, and the next person who attaches wants theirs.
        let script = Script::of(resize).then(["set-option", "-w", "-t", &window.id, "window-size", "latest"]);
        self.call_at(pane, &script, About::default()).map(drop)
    }

    /// Whether one pane of the window of `pane` hides the others.
    pub(super) fn is_zoomed(&self, pane: &PaneId) -> Result<bool, TmuxError> {
        Ok(self.window(pane)?.zoomed.is_some())
    }

    fn window(&self, pane: &PaneId) -> Result<Window, TmuxError> {
        let script = Script::of(["list-panes", "-t", pane.as_str(), "-F", LINE]);
        let said = self.call_at(pane, &script, About::default())?;
        read(&said).ok_or_else(|| TmuxError::unexpected("list-panes", &said))
    }
}

/// What tmux does when somebody with a screen of another size comes: shares alone would leave the top a single line.
fn again(window: &str) -> String {
    format!(
        "if-shell -F '#{{window_zoomed_flag}}' '' {{ set-option -wF -t {window} main-pane-height '{TOP}' ; \
         select-layout -t {window} main-horizontal }}"
    )
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Window {
    id: String,
    /// The pane that alone is shown, if one is.
    zoomed: Option<PaneId>,
    /// The size that it had from the start, if it has another one now and no client is attached.
    resize: Option<(u16, u16)>,
    /// In the order in which they are laid out.
    panes: Vec<PaneId>,
}

fn read(listing: &str) -> Option<Window> {
    let mut window = Window::default();
    for line in listing.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [pane, active, id, zoomed, attached, wanted, actual] = fields[..] else { return None };
        let pane: PaneId = pane.parse().ok()?;
        if (active, zoomed) == ("1", "1") {
            window.zoomed = Some(pane.clone());
        }
        window.panes.push(pane);
        id.clone_into(&mut window.id);
        window.resize = if attached == "0" && wanted != actual { size(wanted) } else { None };
    }
    (!window.panes.is_empty()).then_some(window)
}

fn size(text: &str) -> Option<(u16, u16)> {
    let (width, height) = text.split_once('x')?;
    Some((width.parse().ok()?, height.parse().ok()?))
}

/// Returns the swaps that bring `panes` into `order`, as far as it names them.
fn swaps(panes: &[PaneId], order: &[PaneId]) -> Script {
    let mut now = panes.to_vec();
    let mut script = Script::default();
    let wanted = order.iter().filter(|pane| panes.contains(pane));
    for (place, pane) in wanted.enumerate() {
        let Some(at) = now.iter().position(|one| one == pane) else { continue };
        if at > place {
            script = script.then(["swap-pane", "-d", "-Z", "-s", pane.as_str(), "-t", now[place].as_str()]);
            now.swap(at, place);
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<PaneId> {
        text.split_whitespace().map(|id| id.parse().unwrap()).collect()
    }

    #[test]
    fn panes_are_swapped_only_as_needed() {
        let said = |panes: &str, order: &str| {
            let script = swaps(&ids(panes), &ids(order));
            script.words().iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said("%0 %1 %2", "%0 %1 %2"), "");
        assert_eq!(said("%0 %1 %2", "%0 %9 %2"), "swap-pane -d -Z -s %2 -t %1");
        assert_eq!(said("%1 %0 %2", "%2 %1"), "swap-pane -d -Z -s %2 -t %1 ; swap-pane -d -Z -s %1 -t %0");
    }

    #[test]
    fn a_window_that_somebody_looks_at_keeps_its_size() {
        let listing = |attached: u8| format!("%0:0:@1:1:{attached}:200x50:40x15\n%3:1:@1:1:{attached}:200x50:40x15\n");
        let window = read(&listing(0)).unwrap();
        assert_eq!((window.resize, window.zoomed), (Some((200, 50)), Some("%3".parse().unwrap())));
        assert_eq!((window.id.as_str(), window.panes), ("@1", ids("%0 %3")));
        assert_eq!(read(&listing(1)).unwrap().resize, None);
    }
}
