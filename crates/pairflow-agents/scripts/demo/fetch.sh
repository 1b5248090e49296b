#!/bin/sh
# Prints the document at a URL.
#
# usage: sh fetch.sh URL
#   FETCH_WITH   the program that downloads (default: curl -fsS)
set -u

url=${1:?usage: sh fetch.sh URL}

${FETCH_WITH:-curl -fsS} "$url"
