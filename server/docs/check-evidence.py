#!/usr/bin/env python3
"""Checks a folder that `bailiwick evidence` made, with nothing but Python 3 and openssl. It ends with an error if anything that it checks is false."""
import base64, glob, hashlib, json, os, re, subprocess, sys, tempfile

os.chdir(os.path.dirname(os.path.abspath(__file__)))


def read(name):
    with open(name, "rb") as file:
        return file.read()


def is_signed(pem, message, signature):
    with tempfile.NamedTemporaryFile() as signed, tempfile.NamedTemporaryFile() as sig:
        signed.write(message), signed.flush(), sig.write(signature), sig.flush()
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", pem, "-rawin", "-in", signed.name, "-sigfile", sig.name]
        return subprocess.run(command, capture_output=True).returncode == 0


def raw_key(pem):
    return base64.b64decode("".join(read(pem).decode().split("\n")[1:-2]))[-32:]


def statement(name, keys):
    """The in-toto statement in a DSSE envelope, if as many keys have signed it as must."""
    envelope = json.loads(read(name))
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    signatures = [base64.b64decode(one["sig"]) for one in envelope["signatures"]]
    by = [pem for pem in sorted(glob.glob(keys + "/*.pem")) if any(is_signed(pem, message, one) for one in signatures)]
    needed = int(read(keys + "/threshold"))
    assert len(by) >= needed >= 1, "%s: %d of %d keys have signed it" % (name, len(by), needed)
    found = json.loads(payload)
    assert found["_type"] == "https://in-toto.io/Statement/v1", name
    assert [one["digest"]["sha256"] for one in found["subject"]] == [digest], name + " is about another snapshot"
    print("%s: signed by %s" % (name, ", ".join(os.path.basename(pem)[:16] for pem in by)))
    return found


def node(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def event(name, checkpoint):
    """The event of a proof, if it leads to the checkpoint (RFC 9162, section 2.1.3.2)."""
    head, rest = read(name).decode().split("\n\n", 1)
    assert rest == checkpoint, name + " has another checkpoint"
    version, extra, index, *path = head.split("\n")
    assert version == "c2sp.org/tlog-proof@v1" and extra.startswith("extra ") and index.startswith("index ")
    line, index = base64.b64decode(extra[6:]), int(index[6:])
    log, size, root = checkpoint.split("\n")[:3]
    found, at, last = hashlib.sha256(b"\x00" + line).digest(), index, int(size) - 1
    assert index <= last
    for beside in map(base64.b64decode, path):
        assert last > 0
        if at % 2 == 1 or at == last:
            found = node(beside, found)
            while at % 2 == 0 and at > 0:
                at, last = at // 2, last // 2
        else:
            found = node(found, beside)
        at, last = at // 2, last // 2
    assert last == 0 and found == base64.b64decode(root), name + " does not lead to the checkpoint"
    told = json.loads(line)
    assert told["seq"] == index + 1 and told["snapshot"] == "sha256:" + digest and told["outcome"] == "allowed", name
    return line


digest = hashlib.sha256(read("snapshot.json")).hexdigest()
print("snapshot sha256:" + digest)
policy, checks = json.loads(read("snapshot.json"))["snapshot"], json.loads(read("checks.json"))
assert checks["snapshot"] == "sha256:" + digest and checks["policy"] == policy["name"], "checks.json is not of this snapshot"
assert all(checks[name] == policy[name] for name in ("format", "decisions", "checks")), "checks.json is not of this snapshot"

if os.path.exists("statement.dsse.json"):
    said = statement("statement.dsse.json", "statement-keys")
    assert said["predicateType"] == "urn:bailiwick:publication:v1"
    print("published for %(environment)s, generation %(generation)d, until %(expires)s" % said["predicate"])
is_attested = False
if os.path.exists("attestation.dsse.json"):
    said = statement("attestation.dsse.json", "attestation-keys")
    assert said["predicateType"] == "https://in-toto.io/attestation/svr/v0.1"
    print("verified: " + ", ".join(said["predicate"]["properties"]))
    compared = said["predicate"].get("bailiwick", {}).get("compared")
    if compared and os.path.exists("before.json") and compared["snapshot"] == "sha256:" + hashlib.sha256(read("before.json")).hexdigest():
        assert compared["diff"] == hashlib.sha256(read("diff.json")).hexdigest(), "diff.json is not the one that was attested"
        print("diff.json is the difference that was attested")
        is_attested = True
if os.path.exists("diff.json"):
    if not is_attested:
        print("nobody signed diff.json: compare it with what `bailiwick diff before.json snapshot.json --format json` prints")
    diff = json.loads(read("diff.json"))
    assert diff["new"]["snapshot"] == "sha256:" + digest
    assert diff["old"]["snapshot"] == "sha256:" + hashlib.sha256(read("before.json")).hexdigest()

lines = read("log/activations.jsonl").split(b"\n")[:-1] if os.path.exists("log/activations.jsonl") else []
proved = set()
for name in sorted(glob.glob("log/*.checkpoint")):
    log = os.path.basename(name)[: -len(".checkpoint")]
    checkpoint = read(name).decode()
    body, signatures = checkpoint.split("\n\n")
    text, key, origin = (body + "\n").encode(), raw_key("log/%s.pem" % log), body.split("\n")[0]
    assert origin == "bailiwick/audit/" + log
    key_id = hashlib.sha256(origin.encode() + b"\n\x01" + key).digest()[:4]
    signed = [base64.b64decode(one.split(" ")[2]) for one in signatures.splitlines() if one.split(" ")[1] == origin]
    assert any(one[:4] == key_id and is_signed("log/%s.pem" % log, text, one[4:]) for one in signed), name + " is not signed"
    proofs = [one for one in glob.glob("log/*.tlog-proof") if re.fullmatch(re.escape(log) + r"-\d+\.tlog-proof", os.path.basename(one))]
    proved |= {event(one, checkpoint) for one in proofs}
    print("%s: signed; %d events lead to it" % (name, len(proofs)))
assert proved <= set(lines)
if len(proved) < len(lines):
    print("not proved: %d of %d events" % (len(lines) - len(proved), len(lines)))
print("all that was checked is true; README.md and diff.txt are for people, and were not checked")
