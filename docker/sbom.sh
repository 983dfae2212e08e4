#!/bin/sh
# usage: sbom.sh WEFT_PREFIX >sbom.spdx.json
# What is in the image, as SPDX 2.3: every package that dpkg knows here, Weft, the model that comes with it, and the libraries
# compiled into it (compiled-in.tsv, and npm.tsv for those of the page). Needs what Debian slim has: dpkg and awk.
set -eu
prefix=$1
version=$("$prefix/bin/weft" --version)
epoch=${SOURCE_DATE_EPOCH:-$(date +%s)}
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
# shellcheck source=/dev/null
distribution=$(. /etc/os-release && echo "$ID-$VERSION_ID")

sha256_of() { sha256sum "$1" | cut -d ' ' -f 1; }

# One line a component, its kind first; a Debian package is named by binary and source package.
list() {
  printf 'weft\tweft\t%s\t%s\n' "${version#weft }" "$(sha256_of "$prefix/bin/weft")"
  printf 'model\tweft-demo\t%s\t%s\n' "${version#weft }" "$(sha256_of "$prefix/share/weft/weft-demo.gguf")"
  sed 's/^/compiled\t/' "$prefix/compiled-in.tsv"
  sed 's/^/npm\t/' "$prefix/npm.tsv"
  dpkg-query -W -f='installed\t${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\n'
}

components=$(list)
digest=$(printf '%s' "$components" | sha256sum | cut -c 1-32)

printf '%s\n' "$components" | awk -F '\t' \
  -v created="$created" -v digest="$digest" -v distribution="$distribution" '
function quoted(text) {
  gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text)
  return "\"" text "\""
}
function escaped(text) { # for a package URL
  gsub(/%/, "%25", text); gsub(/\+/, "%2B", text); gsub(/:/, "%3A", text)
  return text
}
function begin_package(id, name, version, purpose, license) {
  printf "%s    {\"SPDXID\": %s, \"name\": %s, \"versionInfo\": %s, \"primaryPackagePurpose\": \"%s\",\n", \
    separator, quoted(id), quoted(name), quoted(version), purpose
  printf "     \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"copyrightText\": \"NOASSERTION\",\n"
  printf "     \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"%s\"", license
  separator = ",\n"
}
function checksum(value) {
  printf ",\n     \"checksums\": [{\"algorithm\": \"SHA256\", \"checksumValue\": \"%s\"}]}", value
}
function locator(name, version, qualifiers) {
  printf ",\n     \"supplier\": \"Organization: Debian\", \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", "
  printf "\"referenceType\": \"purl\",\n      \"referenceLocator\": %s}]}", \
    quoted("pkg:deb/debian/" escaped(name) "@" escaped(version) "?" qualifiers)
}
function relate(from, type, to) {
  relations = relations (relations == "" ? "" : ",\n") \
    "    {\"spdxElementId\": \"" from "\", \"relationshipType\": \"" type "\", \"relatedSpdxElement\": \"" to "\"}"
}
BEGIN {
  image = "SPDXRef-image"
  print "{\n  \"spdxVersion\": \"SPDX-2.3\", \"dataLicense\": \"CC0-1.0\", \"SPDXID\": \"SPDXRef-DOCUMENT\","
  print "  \"name\": \"weft\", \"documentNamespace\": \"https://spdx.org/spdxdocs/weft-" digest "\","
  print "  \"creationInfo\": {\"created\": \"" created "\", \"creators\": [\"Tool: weft-docker-sbom.sh\"]},\n  \"packages\": ["
  relate("SPDXRef-DOCUMENT", "DESCRIBES", image)
}
{ id = "SPDXRef-" $1 "-" $2; gsub(/[^A-Za-z0-9.-]/, "-", id) }
$1 == "weft" {
  begin_package(image, "weft-image", $3, "CONTAINER", "NOASSERTION"); printf "}"
  begin_package(id, $2, $3, "APPLICATION", "Apache-2.0"); checksum($4)
  weft = id
}
$1 == "model" { begin_package(id, $2, $3, "FILE", "Apache-2.0"); checksum($4) }
$1 == "compiled" {
  begin_package(id, $2, $3, "LIBRARY", "NOASSERTION"); locator($2, $3, "distro=" distribution "&upstream=" escaped($4))
  relate(weft, "STATIC_LINK", id)
  next
}
$1 == "npm" {
  begin_package(id, $2, $3, "LIBRARY", $4)
  printf ",\n     \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\",\n"
  printf "      \"referenceLocator\": %s}]}", quoted("pkg:npm/" $2 "@" $3)
  relate(weft, "STATIC_LINK", id)
  next
}
$1 == "installed" {
  source = $4 == $2 && $5 == $3 ? "" : "&upstream=" escaped($4) ($5 == $3 ? "" : "%40" escaped($5))
  begin_package(id, $2, $3, "LIBRARY", "NOASSERTION"); locator($2, $3, "arch=" $6 "&distro=" distribution source)
}
{ relate(image, "CONTAINS", id) }
END { print "\n  ],\n  \"relationships\": [\n" relations "\n  ]\n}" }'
