"""Whether a bill of materials is SPDX 2.3 as JSON, and names what is in the image."""

import json
import re

PACKAGE_FIELDS = {"SPDXID", "name", "versionInfo", "downloadLocation", "filesAnalyzed", "copyrightText", "licenseConcluded",
                  "licenseDeclared", "primaryPackagePurpose"}
OPTIONAL_FIELDS = {"checksums", "externalRefs", "supplier"}
PURPOSES = {"APPLICATION", "CONTAINER", "FILE", "LIBRARY"}
IDENTITY = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
LOCATOR = re.compile(r"pkg:deb/debian/[a-z0-9.%B-]+@[A-Za-z0-9.~%-]+\?[a-z0-9=&.%A-Z~-]+|pkg:npm/[a-z]+@[0-9.]+")


def installed_packages(status):
    """(name, version) of what dpkg has installed, from its status file."""
    found = set()
    for paragraph in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and not line.startswith(" "))
        if fields.get("Status") == "install ok installed":
            found.add((fields["Package"], fields["Version"]))
    return found


def check_form(document):
    """What is wrong with its form, a line each."""
    wrong = []
    for field, value in {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT"}.items():
        if document.get(field) != value:
            wrong.append(f"{field} is {document.get(field)!r}, not {value!r}")
    if not re.fullmatch(r"https://\S+[^#]", document.get("documentNamespace", "")):
        wrong.append("documentNamespace is no URI")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]):
        wrong.append(f"created is {document['creationInfo']['created']!r}")
    identities = ["SPDXRef-DOCUMENT"]
    for package in document["packages"]:
        identities.append(package["SPDXID"])
        missing = PACKAGE_FIELDS - package.keys()
        unknown = package.keys() - PACKAGE_FIELDS - OPTIONAL_FIELDS
        if missing or unknown or not IDENTITY.fullmatch(package["SPDXID"]) or package["primaryPackagePurpose"] not in PURPOSES:
            wrong.append(f"package {package}: lacks {missing}, has {unknown}")
        for reference in package.get("externalRefs", []):
            if not LOCATOR.fullmatch(reference["referenceLocator"]):
                wrong.append(f"{reference['referenceLocator']} is no package URL")
        for checksum in package.get("checksums", []):
            if not re.fullmatch("[0-9a-f]{64}", checksum["checksumValue"]):
                wrong.append(f"{package['name']}: {checksum}")
    if len(set(identities)) != len(identities):
        wrong.append("an SPDXID is there twice")
    for relation in document["relationships"]:
        for end in ("spdxElementId", "relatedSpdxElement"):
            if relation[end] not in identities:
                wrong.append(f"relationship to {relation[end]}, which is not there")
    return wrong


def check(text, dpkg_status, weft_version, weft_sha256):
    """What is wrong with it, a line each."""
    document = json.loads(text)
    wrong = check_form(document)
    listed = {(package["name"], package["versionInfo"]) for package in document["packages"]
              if package["SPDXID"].startswith("SPDXRef-installed-")}
    installed = installed_packages(dpkg_status)
    wrong += [f"{name} {version} is installed and not listed" for name, version in sorted(installed - listed)]
    wrong += [f"{name} {version} is listed and not installed" for name, version in sorted(listed - installed)]
    weft = [package for package in document["packages"] if package["name"] == "weft"]
    if [package["versionInfo"] for package in weft] != [weft_version]:
        wrong.append(f"weft is listed as {weft}, not once in version {weft_version}")
    elif weft[0]["checksums"][0]["checksumValue"] != weft_sha256:
        wrong.append("the checksum is not that of the binary")
    names = {package["name"] for package in document["packages"]}
    wrong += [f"{name}, which is compiled in, is not listed" for name in ("libboost1.81-dev", "nlohmann-json3-dev", "dompurify")
              if name not in names]
    return wrong, len(document["packages"])
