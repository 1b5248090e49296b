#!/bin/bash
# An agent's program for tests: it takes a prompt as its last argument, reports like the real ones, acts as `play` beside
# it says, and reads further prompts from its terminal. It writes down what it was given.
export LC_ALL=C
here=${0%/*} agent=$PAIRFLOW_AGENT bubble=$PAIRFLOW_BUBBLE
notes="$here/notes/${PAIRFLOW_REPO##*/}.$bubble.$agent" # one line for each prompt
given="$here/given/${PAIRFLOW_REPO##*/}.$bubble.$agent" # every byte of every prompt
session="made-by-$agent-$$" how=fresh
words=("$@")
for ((at = 0; at < $#; at++)); do
  case ${words[at]} in
    --session-id) session=${words[at + 1]} ;;
    --resume) how=resume session=${words[at + 1]} ;;
    resume) how=resume session=${words[-2]} ;;
  esac
done

# Reports an event: its name, then fields of JSON.
hook() { printf '{"hook_event_name":"%s","session_id":"%s"%s}' "$1" "$session" "$2" | pairflow hook "$1"; }
begun() { hook SessionStart; }
taken() { local text=${1//\\/\\\\}; hook UserPromptSubmit ",\"prompt\":\"${text//\"/\\\"}\""; }
nudged() { :; }
# Shows where the next prompt is typed, as the real ones do; the terminal shows what is typed there.
ready() {
  if [ "$agent" = codex ]; then printf '\n› '; else printf '\n────────────\n❯ '; fi >/dev/tty
}
# Waits until the test has made the file `$1`, or has this program end.
gate() {
  until [ -e "$here/$1" ]; do
    if [ -e "$here/exit" ]; then rm "$here/exit"; exit 3; fi
    sleep 0.05
  done
}
# Waits until the reviewer's first program, which the first review takes the place of, has its briefing.
briefed() { until [ -s "$here/notes/${PAIRFLOW_REPO##*/}.$bubble.claude" ]; do sleep 0.05; done; }
# Prints what the person has to know.
explain() { printf '## %s\nx\n' 'What changed' Why Risks 'Manual test plan'; }
# Works through a turn: $round, $seat, $number and $how are set.
act() {
  pairflow brief >/dev/null
  if [ "$seat" = implementer ]; then
    briefed
    echo "round $round" >work.txt
    pairflow pass --summary 'worked on it'
  else
    explain | pairflow pass --summary 'read it' --no-findings --explain -
  fi
}
person() { :; }
. "$here/play"

# Takes one prompt to the end of its turn.
take() {
  printf '%s\n' "$1" >>"$given"
  [ -n "$1" ] || return
  number=- round=- seat=- whose=-
  if [[ $1 =~ ^\[pairflow\ ([0-9]+)\]\ Round\ ([0-9]+):\ you\ are\ the\ (implementer|reviewer)\ of\ bubble\ ([^.]+)\. ]]; then
    number=${BASH_REMATCH[1]} round=${BASH_REMATCH[2]} seat=${BASH_REMATCH[3]} whose=${BASH_REMATCH[4]}
  elif [[ $1 =~ ^\[pairflow\ 0\]\ You\ take\ part\ in\ bubble\ ([^.]+)\. ]]; then
    number=0 whose=${BASH_REMATCH[1]}
  fi
  echo "$number $round $seat $whose $how $$ $session" >>"$notes"
  taken "$1"
  case $number in
    -) person "$1" ;;
    0) ;;
    *) act >>"$here/said" 2>&1 ;;
  esac
  # A notice may be typed as soon as the stop is reported, so nothing is drawn after that.
  ready
  while answer=$(hook Stop) && [ -n "$answer" ]; do
    echo "$answer" >>"$notes.stops"
    nudged >>"$here/said" 2>&1
  done
  how=paste
}

ready
begun
if [ $# -gt 0 ]; then take "${words[-1]}"; fi # without arguments even the first prompt is typed
while IFS= read -r line; do ready; take "$line"; done
