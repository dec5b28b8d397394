#!/bin/sh
# Builds the viewer into crates/report/viewer, where the Rust build takes it from.
# --if-stale: only where the sources changed since; --check: fail where they did. Neither needs Node when all is current.
set -eu
cd "$(dirname "$0")"
out=../crates/report/viewer

sources() {
  find src package.json package-lock.json build.sh tsconfig.json -type f | LC_ALL=C sort
}
hash=$(sources | while IFS= read -r file; do sha256sum "$file"; done | sha256sum | cut -d' ' -f1)
mark="/*! punctual viewer, sources sha256:$hash */"

current() {
  for file in "$out/viewer.js" "$out/viewer.css"; do
    [ "$(head -n 1 "$file" 2>/dev/null)" = "$mark" ] || return 1
  done
}

case "${1:-}" in
  --check)
    current || { echo "crates/report/viewer is older than web/src: run web/build.sh" >&2; exit 1; }
    exit 0 ;;
  --if-stale) if current; then exit 0; fi ;;
  "") ;;
  *) echo "usage: build.sh [--check | --if-stale]" >&2; exit 2 ;;
esac

[ -d node_modules ] || npm ci
mkdir -p "$out"
node_modules/.bin/esbuild src/main.tsx --bundle --minify --format=iife --target=es2023 --charset=utf8 \
  --jsx=automatic --jsx-import-source=preact --legal-comments=none --log-level=warning --outfile="$out/viewer.js"
for file in "$out/viewer.js" "$out/viewer.css"; do
  # The notices that the licenses of Preact and uPlot ask every copy to carry.
  {
    printf '%s\n/*\n' "$mark"
    for library in preact uplot; do printf '%s\n\n' "$library"; cat "node_modules/$library/LICENSE"; echo; done
    printf '*/\n'
    cat "$file"
  } > "$file.new"
  mv "$file.new" "$file"
done
wc -c "$out/viewer.js" "$out/viewer.css"
