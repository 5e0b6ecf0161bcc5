#!/usr/bin/env bash
# Fetches the jars of a real Kafka broker (tests/broker/pom.xml) into build/kafka-libs with Maven.
# Idempotent: a stamp with the digest of the pom says that they are there. Needs Java and Maven:
# etc/setup.sh test installs them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

pom=tests/broker/pom.xml
libs=build/kafka-libs
digest=$(sha256sum "$pom" | cut -d' ' -f1)

if [[ -f $libs/.stamp && $(<"$libs/.stamp") == "$digest" ]]; then
  echo "kafka-libs: $libs is up to date"
  exit 0
fi
for tool in java mvn; do
  command -v "$tool" >/dev/null || {
    echo "kafka-libs: $tool is not installed: the broker tests need Java and Maven" >&2
    exit 1
  }
done

echo "kafka-libs: fetching the jars of $pom (about 54 MB, once)"
# Into a folder of its own first: a broken download must not look finished.
rm -rf "$libs" "$libs.part"
mkdir -p "$libs.part"
mvn -q -B -f "$pom" dependency:copy-dependencies -DoutputDirectory="$PWD/$libs.part" || {
  echo "kafka-libs: Maven could not fetch the jars; is its registry reachable? Run this again" >&2
  exit 1
}
echo "$digest" > "$libs.part/.stamp"
mv "$libs.part" "$libs"
echo "kafka-libs: $(find "$libs" -name '*.jar' | wc -l) jars in $libs"
