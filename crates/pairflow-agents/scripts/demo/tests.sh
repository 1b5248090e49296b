#!/bin/sh
# usage: sh tests.sh
set -u
failed=0

check() { # NAME EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then
        echo "ok    $1"
    else
        echo "FAIL  $1: expected '$2', got '$3'"
        failed=1
    fi
}

check "prints what the download prints" "got http://example.test" "$(FETCH_WITH='echo got' sh fetch.sh http://example.test)"

exit $failed
