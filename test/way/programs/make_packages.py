"""Writes a package for npm and one for pip, as small as they take them, into a folder: make_packages.py FOLDER"""
import io
import os
import sys
import tarfile
import zipfile

folder = sys.argv[1]
manifest = b'{"name":"demo","version":"1.0.0"}'
with tarfile.open(os.path.join(folder, "demo-1.0.0.tgz"), "w:gz") as archive:
    entry = tarfile.TarInfo("package/package.json")
    entry.size = len(manifest)
    archive.addfile(entry, io.BytesIO(manifest))

texts = {
    "demo.py": "",
    "demo-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0.0\n",
    "demo-1.0.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "demo-1.0.0.dist-info/RECORD": "",
}
with zipfile.ZipFile(os.path.join(folder, "demo-1.0.0-py3-none-any.whl"), "w") as archive:
    for name, text in texts.items():
        archive.writestr(name, text)
