"""What a browser and its push service make of a message, by Python's `cryptography` and nothing of Bellhop.

    webpush_open.py check            says "ready" where the library is there
    webpush_open.py open             reads lines: SECRET POINT AUTH BODY, all in base64url
    webpush_open.py verify           reads lines: TOKEN KEY

`open` decrypts an aes128gcm body (RFC 8188, 8291) with the browser's keys and writes, for each line, the padded length
and the payload in base64url. `verify` checks a VAPID token's ES256 signature and writes its claims. A line that fails is
answered with "no".
"""

import base64
import hashlib
import hmac
import sys


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def key_of_point(point):
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)


def opened(secret, point, auth, body):
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
    sender, record = body[21 : 21 + length], body[21 + length :]
    if len(record) >= size or length != 65:
        raise ValueError("not one record")
    private = ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())
    shared = private.exchange(ec.ECDH(), key_of_point(sender))
    material = mac(mac(auth, shared), b"WebPush: info\x00" + point + sender + b"\x01")
    root = mac(salt, material)
    key = mac(root, b"Content-Encoding: aes128gcm\x00\x01")[:16]
    nonce = mac(root, b"Content-Encoding: nonce\x00\x01")[:12]
    padded = AESGCM(key).decrypt(nonce, record, None)
    payload = padded.rstrip(b"\x00")
    if payload[-1:] != b"\x02":
        raise ValueError("no delimiter")
    return len(padded) - 1, payload[:-1]


def verified(token, point):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    header, claims, signature = token.split(".")
    raw = decode(signature)
    pair = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key_of_point(point).verify(pair, f"{header}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    return decode(header).decode() + " " + decode(claims).decode()


def answer(line):
    words = line.split()
    if sys.argv[1] == "verify":
        return verified(words[0], decode(words[1]))
    length, payload = opened(*map(decode, words))
    return f"{length} {encode(payload)}"


def main():
    if sys.argv[1] == "check":
        import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401

        print("ready")
        return
    for line in sys.stdin.read().splitlines():
        try:
            print(answer(line))
        except Exception:
            print("no")


main()
