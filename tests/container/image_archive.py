"""An image as `docker save`, `podman save` and buildah write it: a tar file with manifest.json, the configuration and the layers."""

import gzip
import io
import json
import os
import shutil
import tarfile

WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
tarfile.TarFile.extraction_filter = staticmethod(lambda member, _: member)  # owners and modes are what the image says


class ImageArchive:
    def __init__(self, path):
        self._tar = tarfile.open(path)
        self._manifest = json.load(self._tar.extractfile("manifest.json"))[0]
        self.config = json.load(self._tar.extractfile(self._manifest["Config"]))["config"]

    def _layers(self):
        for name in self._manifest["Layers"]:
            member = self._tar.getmember(name)
            data = self._tar.extractfile(member).read()
            yield gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data

    def layer_sizes(self):
        """Bytes of each layer, compressed as registries keep them."""
        return [len(gzip.compress(data, compresslevel=6, mtime=0)) for data in self._layers()]

    def unpack(self, root):
        """The file system that a container sees."""
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        for data in self._layers():
            with tarfile.open(fileobj=io.BytesIO(data)) as layer:
                for member in layer:
                    folder, name = os.path.split(os.path.join(root, member.name))
                    if name == OPAQUE:
                        shutil.rmtree(folder)
                        os.makedirs(folder)
                    elif name.startswith(WHITEOUT):
                        remove(os.path.join(folder, name[len(WHITEOUT):]))
                    elif member.isdev():
                        continue  # engines bring their own
                    else:
                        if not member.isdir():
                            remove(os.path.join(folder, name))
                        layer.extract(member, root, numeric_owner=True)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)
