#!/usr/bin/env python3
"""Checks a folder that `bailiwick evidence` made, with nothing but Python 3 and openssl.

Exit status: 0 if everything is here and true, 6 if what is here is true and something is missing, 1 if anything is false, 2 if
this machine cannot check it.
"""
import base64, binascii, glob, hashlib, json, os, re, subprocess, sys, tempfile

os.chdir(os.path.dirname(os.path.abspath(__file__)))
missing = []
# How the file of an Ed25519 key begins, before its 32 bytes (RFC 8410).
ED25519 = bytes.fromhex("302a300506032b6570032100")


def end(status, message):
    print(message, file=sys.stderr)
    sys.exit(status)


def must(is_so, message):
    # Not `assert`, which `python3 -O` leaves out.
    if not is_so:
        end(1, "FALSE: " + message)


def read(name):
    must(os.path.isfile(name), name + " is missing")
    with open(name, "rb") as file:
        return file.read()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def raw_key(pem):
    """The 32 bytes of a file that holds one key and nothing else, so that openssl reads the same key."""
    found = re.fullmatch(rb"-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/]{59}=)\n-----END PUBLIC KEY-----\n", read(pem))
    key = base64.b64decode(found.group(1)) if found else b""
    must(key[:-32] == ED25519, pem + " is not an Ed25519 public key in PEM")
    return key[-32:]


def is_signed(key, message, signature):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("key", "message", "signature")]
        pem = b"-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n" % base64.b64encode(ED25519 + key)
        for name, data in zip(names, (pem, message, signature)):
            with open(name, "wb") as file:
                file.write(data)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", names[0], "-rawin", "-in", names[1], "-sigfile", names[2]]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def try_openssl():
    """Whether openssl finds a signature right that is right: the second test of RFC 8032, section 7.1."""
    key = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    try:
        works = is_signed(key, b"\x72", signature)
    except FileNotFoundError:
        works = False
    if not works:
        end(2, "nothing was checked: `openssl` is not here, or too old for Ed25519. It must be OpenSSL 1.1.1 or newer, not LibreSSL")


def statement(name, keys):
    """The in-toto statement in a DSSE envelope, if as many keys have signed it as must."""
    envelope = json.loads(read(name))
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    signatures = [base64.b64decode(one["sig"]) for one in envelope["signatures"]]
    by = []
    for pem in sorted(glob.glob(keys + "/*.pem")):
        key = raw_key(pem)
        must(os.path.basename(pem) == sha256(key) + ".pem", pem + " has the name of another key")
        if any(is_signed(key, message, one) for one in signatures):
            by.append(sha256(key)[:16])
    needed = int(read(keys + "/threshold"))
    must(len(by) >= needed >= 1, "%s: %d of %d keys have signed it" % (name, len(by), needed))
    found = json.loads(payload)
    must(found["_type"] == "https://in-toto.io/Statement/v1", name + " is not an in-toto statement")
    must([one["digest"]["sha256"] for one in found["subject"]] == [digest], name + " is about another snapshot")
    print("%s: signed by %s" % (name, ", ".join(by)))
    return found


def node(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def event(name, checkpoint):
    """The event of a proof, if it leads to the checkpoint (RFC 9162, section 2.1.3.2)."""
    head, rest = read(name).decode().split("\n\n", 1)
    must(rest == checkpoint, name + " has another checkpoint")
    version, extra, index, *path = head.split("\n")
    must(version == "c2sp.org/tlog-proof@v1" and extra[:6] == "extra " and index[:6] == "index ", name + " is not a proof")
    line, index = base64.b64decode(extra[6:]), int(index[6:])
    size, root = checkpoint.split("\n")[1:3]
    found, at, last = hashlib.sha256(b"\x00" + line).digest(), index, int(size) - 1
    fits = 0 <= index <= last
    for beside in map(base64.b64decode, path):
        fits = fits and last > 0
        if at % 2 == 1 or at == last:
            found = node(beside, found)
            while at % 2 == 0 and at > 0:
                at, last = at // 2, last // 2
        else:
            found = node(found, beside)
        at, last = at // 2, last // 2
    must(fits and last == 0 and found == base64.b64decode(root), name + " does not lead to the checkpoint")
    told = json.loads(line)
    is_activation = told["operation"] in ("gateway.start", "policy.activate") and told["outcome"] == "allowed"
    must(is_activation and told["seq"] == index + 1 and told["snapshot"] == "sha256:" + digest, name + " is of another event")
    print("%(time)s: in force (%(operation)s, event %(seq)d)" % told)
    return line


def check_log():
    lines = read("log/activations.jsonl").split(b"\n") if os.path.exists("log/activations.jsonl") else None
    is_whole = lines is None or (lines.pop() == b"" and len(lines) == len(set(lines)) > 0)
    must(is_whole, "log/activations.jsonl is cut off, empty or has an event twice")
    proved, proofs = set(), set(glob.glob("log/*.tlog-proof"))
    for name in sorted(glob.glob("log/*.checkpoint")):
        log = os.path.basename(name)[: -len(".checkpoint")]
        checkpoint = read(name).decode()
        body, signatures = checkpoint.split("\n\n")
        text, key, origin = (body + "\n").encode(), raw_key("log/%s.pem" % log), body.split("\n")[0]
        must(origin == "bailiwick/audit/" + log, name + " is of another log")
        key_id = hashlib.sha256(origin.encode() + b"\n\x01" + key).digest()[:4]
        signed = [base64.b64decode(one.split(" ")[2]) for one in signatures.splitlines() if one.split(" ")[1] == origin]
        must(any(one[:4] == key_id and is_signed(key, text, one[4:]) for one in signed), name + " is not signed")
        print("%s: signed by %s" % (name, sha256(key)[:16]))
        own = {one for one in proofs if re.fullmatch(re.escape(log) + r"-\d+\.tlog-proof", os.path.basename(one))}
        proofs -= own
        proved |= {event(one, checkpoint) for one in sorted(own)}
    missing.extend("the head that %s leads to" % one for one in sorted(proofs))
    if lines is None:
        return missing.append("when it was in force: log/activations.jsonl")
    must(proved <= set(lines), "an event that is proved is not in log/activations.jsonl")
    if len(proved) < len(lines):
        missing.append("proofs of %d of %d events in log/activations.jsonl" % (len(lines) - len(proved), len(lines)))


def check_difference(compared):
    gone = [name for name in ("diff.json", "before.json") if not os.path.exists(name)]
    if gone:
        first = " (there are none if nothing was in force before)" if len(gone) == 2 and compared is None else ""
        return missing.append("what it changed: " + " and ".join(gone) + first)
    diff, before = json.loads(read("diff.json")), "sha256:" + sha256(read("before.json"))
    must(diff["new"]["snapshot"] == "sha256:" + digest and diff["old"]["snapshot"] == before, "diff.json is about other snapshots")
    if compared is None or compared["snapshot"] != before:
        return missing.append(
            "who signed diff.json: compare it with what `bailiwick diff before.json snapshot.json --format json` prints"
        )
    must(compared["diff"] == sha256(read("diff.json")), "diff.json is not the one that was attested")
    print("diff.json is the difference that was attested")


def check():
    policy, checks = json.loads(read("snapshot.json"))["snapshot"], json.loads(read("checks.json"))
    own = [checks["snapshot"], checks["policy"]] == ["sha256:" + digest, policy["name"]]
    must(own and all(checks[name] == policy[name] for name in ("format", "decisions", "checks")), "checks.json is not of this snapshot")
    if os.path.exists("statement.dsse.json"):
        said = statement("statement.dsse.json", "statement-keys")
        must(said["predicateType"] == "urn:bailiwick:publication:v1", "statement.dsse.json is no publication statement")
        print("published for %(environment)s, generation %(generation)d, until %(expires)s" % said["predicate"])
    else:
        missing.append("who released it: statement.dsse.json")
    compared = None
    if os.path.exists("attestation.dsse.json"):
        said = statement("attestation.dsse.json", "attestation-keys")
        must(said["predicateType"] == "https://in-toto.io/attestation/svr/v0.1", "attestation.dsse.json is no attestation")
        print("verified: " + ", ".join(said["predicate"]["properties"]))
        compared = said["predicate"].get("bailiwick", {}).get("compared")
    else:
        missing.append("whether it passed its tests and guardrails: attestation.dsse.json")
    check_difference(compared)
    check_log()


try_openssl()
digest = sha256(read("snapshot.json"))
print("snapshot sha256:" + digest)
try:
    check()
except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, binascii.Error) as error:
    end(1, "FALSE: a file is not in its form: %r" % error)
for one in missing:
    print("missing: " + one)
print("%s is true; README.md and diff.txt are for people, and were not checked" % ("what is here" if missing else "everything"))
sys.exit(6 if missing else 0)
