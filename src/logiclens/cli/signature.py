"""Signatures of model folders: who put these files together. `sign` and `verify --key` use them.

A signature is one more file of the folder, `signature.json`. It holds the sha256 of every other file, the time, the
fingerprint of the public key, and an Ed25519 signature of all that. The signed bytes start with words of their own, so
that a signature can be taken for nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logiclens.errors import LogicLensError, require_extra
from logiclens.storage import is_workspace, write_whole
from logiclens.verify import Refuted, Unusable
from logiclens.verify.files import LIMITS, SIGNATURE, WEIGHTS, Fields, parse, read_regular

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KIND, SCHEMA, ALGORITHM = "logiclens signature", 1, "Ed25519"
PREFIX = b"logiclens model signature 1\n"
"""Start of the signed bytes: separates them from whatever else the same key may sign."""
LARGEST_KEY = 2**16
"""Largest size of a key file in bytes."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How the time is written, in universal time."""


@dataclass(frozen=True)
class Signed:
    """Who signed a folder, and when.

    Attributes:
        signer: fingerprint of the public key.
        time: time of the signature by the signer's clock, in universal time.
    """

    signer: str
    time: str

    def __str__(self) -> str:
        """A sentence."""
        return f"Signed by {self.signer} at {self.time}, by the signer's clock; no file was changed since."


def new_key(name: str) -> tuple[Path, Path]:
    """Make a key pair: `NAME.private.pem`, which only its owner can read, and `NAME.public.pem`.

    Neither may exist: a key is never overwritten. Returns both paths.
    """
    with require_extra("sign", "a signature"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    private, public = Path(f"{name}.private.pem"), Path(f"{name}.public.pem")
    for path in (private, public):
        if os.path.lexists(path):
            raise LogicLensError(f"{path} exists, and a key is never overwritten: choose another name.")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shared = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    with _new_file(private, secret, 0o600), _new_file(public, shared, 0o644):
        return private, public


@contextmanager
def _new_file(path: Path, content: bytes, mode: int) -> Iterator[None]:
    """Write a file that does not exist. Remove it if that or the block fails: half a pair of keys is of no use."""
    try:
        # O_EXCL: a file that appeared since is not overwritten, and a link is not followed.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise LogicLensError(f"cannot write {path}: {error.strerror or error}.") from None
    try:
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
        except OSError as error:
            raise LogicLensError(f"cannot write {path}: {error.strerror or error}.") from None
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def sign(folder: Path, key: Path, checked: Mapping[str, str] | None = None) -> Signed:
    """Sign the files of a model folder as they are, and write `signature.json` in place of an older one.

    Args:
        folder: the model folder.
        key: file of the private key.
        checked: sha256 of files as they were checked, by their names. These are signed, whatever the files are now.
    """
    secret = _private_key(key)
    signed = Signed(fingerprint(secret.public_key()), datetime.now(UTC).strftime(TIME))
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        "algorithm": ALGORITHM,
        "files": _hashes(folder, checked or {}),
        "signer": signed.signer,
        "time": signed.time,
    }
    signature = base64.b64encode(secret.sign(_signed_bytes(content))).decode("ascii")
    write_whole(folder / SIGNATURE, json.dumps({**content, "signature": signature}, indent=1) + "\n", sync=True)
    return signed


def check_signature(folder: Path, key: Path, checked: Mapping[str, str] | None = None) -> Signed:
    """Check that a folder was signed with a key, and that no file was changed, added or removed since.

    Args:
        folder: the model folder.
        key: file of the public key.
        checked: sha256 of files as they were checked, by their names. These must be signed, whatever the files are now.

    Raises:
        Unusable: there is no signature, or it or the key cannot be read.
        Refuted: the signature was made with another key, or does not fit the files.
    """
    public = _public_key(key)
    from cryptography.exceptions import InvalidSignature

    fields = _read_signature(folder)
    signer, time, files = fields.text("signer"), fields.text("time"), fields.inner("files").record
    if signer != fingerprint(public):
        raise Refuted(f"the folder was signed with another key, {signer[:80]!r}, and not with {key}.")
    content = {name: value for name, value in fields.record.items() if name != "signature"}
    try:
        public.verify(_raw_signature(fields), _signed_bytes(content))
    except InvalidSignature:
        raise Refuted(f"the signature in {SIGNATURE} was not made with this key for what it states.") from None
    now = _hashes(folder, checked or {})
    if files != now:
        changed = sorted(name for name in {*files, *now} if files.get(name) != now.get(name))
        raise Refuted(f"{changed[0]!r} was changed, added or removed after the folder was signed.")
    return Signed(signer, time)


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the sha256 of a public key, by which people tell keys apart."""
    from cryptography.hazmat.primitives import serialization

    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(der).hexdigest()}"


def _signed_bytes(content: dict[str, Any]) -> bytes:
    """Return what is signed: the prefix, and canonical JSON of all but the signature itself."""
    return PREFIX + json.dumps(content, sort_keys=True, separators=(",", ":")).encode("utf-8")


def _hashes(folder: Path, checked: Mapping[str, str]) -> dict[str, str]:
    """Return the sha256 of every file of a folder but the signature. Files that were checked are not read again.

    What a killed signer left behind is no file of the model; the next one removes it.
    """
    try:
        found = [path for path in folder.iterdir() if path.name not in {SIGNATURE, *checked} and not is_workspace(path)]
        return {**checked, **{path.name: _hash(path) for path in sorted(found)}}
    except OSError as error:
        raise Unusable(f"{folder} cannot be read ({error.strerror or error}).") from None


def _hash(path: Path) -> str:
    return hashlib.sha256(read_regular(path, LIMITS.get(path.name, LIMITS[WEIGHTS]))).hexdigest()


def _read_signature(folder: Path) -> Fields:
    try:
        content = read_regular(folder / SIGNATURE, LARGEST_KEY)
    except FileNotFoundError:
        raise Unusable(
            f"there is no {SIGNATURE} in {str(folder)!r}: its maker signs it by `logiclens sign MODEL --key FILE`."
        ) from None
    except OSError as error:
        raise Unusable(f"{SIGNATURE} cannot be read ({error.strerror or error}).") from None
    fields = parse(content, SIGNATURE)
    fields.check_keys(("kind", "schema", "algorithm", "files", "signer", "time", "signature"))
    for name, expected in (("kind", KIND), ("schema", SCHEMA), ("algorithm", ALGORITHM)):
        if fields.record[name] != expected or isinstance(fields.record[name], bool):
            raise fields.refuse(name, repr(expected))
    for name in fields.inner("files").record:
        fields.inner("files").text(name)
    try:
        datetime.strptime(fields.text("time"), TIME)
    except ValueError:
        raise fields.refuse("time", "a time such as 2026-01-31T12:00:00Z") from None
    return fields


def _raw_signature(fields: Fields) -> bytes:
    text = fields.text("signature")
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raise fields.refuse("signature", "bytes in base64") from None
    # The last letter has bits to spare, so several texts stand for the same bytes: one of them is the signature.
    if base64.b64encode(raw).decode("ascii") != text:
        raise fields.refuse("signature", "bytes in base64")
    return raw


def _private_key(path: Path) -> Ed25519PrivateKey:
    with require_extra("sign", "a signature"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        key = load_pem_private_key(_key_bytes(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise Unusable(
            f"{path} is not a private Ed25519 key without password in PEM form: make one by "
            "`logiclens sign --new-key NAME`."
        )
    return key


def _public_key(path: Path) -> Ed25519PublicKey:
    with require_extra("sign", "a signature"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    try:
        key = load_pem_public_key(_key_bytes(path))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise Unusable(f"{path} is not a public Ed25519 key in PEM form: pass the public key of the signer.")
    return key


def _key_bytes(path: Path) -> bytes:
    try:
        return read_regular(path, LARGEST_KEY)
    except Unusable:
        raise Unusable(
            f"the key {path} cannot be read: a key is a regular file of at most {LARGEST_KEY:,} bytes."
        ) from None
    except (OSError, ValueError) as error:
        raise Unusable(f"the key {path} cannot be read ({getattr(error, 'strerror', None) or error}).") from None
