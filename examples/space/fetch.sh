#!/bin/sh
# Fetches books as plain text into books/, from addresses that you name.
set -eu
if [ $# -eq 0 ]; then
  echo "usage: sh fetch.sh URL [URL ...], of books in the public domain where you are" >&2
  exit 2
fi
mkdir -p books
for url in "$@"; do
  name=$(basename "${url%%\?*}" | tr -c 'A-Za-z0-9._\n-' '_')
  case $name in *.txt) ;; *) name=$name.txt ;; esac
  # A file that was cut short has the other name.
  curl --fail --location --silent --show-error --max-filesize 20000000 -o "books/.$name.part" "$url"
  mv "books/.$name.part" "books/$name"
  echo "books/$name"
done
