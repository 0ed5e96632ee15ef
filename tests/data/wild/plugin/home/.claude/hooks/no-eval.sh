#!/bin/sh
# Nothing is run that nobody can read.
if grep -q '| sh'; then
  echo "read it before you run it" >&2
  exit 2
fi
