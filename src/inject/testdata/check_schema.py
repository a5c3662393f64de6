"""Compares Kubernetes objects with the schema that python3-kubernetes was generated from (the models
of its client), and with rules of API servers that no schema has. One case on each line, as
{"before": ..., "after": ...}: what is wrong with "after" must have been wrong with "before" already.
Prints how many cases there were and in how many nothing at all was wrong, or the first that is. With
--each it prints a line for each case instead: what is wrong with it."""
import json
import re
import sys

import kubernetes.client as client

CONFIGURATION = client.Configuration()
# What the injector writes that is younger than the models (1.22).
YOUNGER = {("V1Container", "restartPolicy"): "str"}
SCALARS = {"str": str, "int": int, "bool": bool, "float": (int, float)}
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
MAX_ANNOTATION_BYTES = 256 * 1024


def check_value(kind, value, place):
    """Yields (place, what is wrong). A place has no indexes: they move when a sidecar is added."""
    if value is None or kind in ("object", "datetime", "bytes"):
        return
    if kind in SCALARS:
        fits = isinstance(value, SCALARS[kind]) and (kind == "bool" or not isinstance(value, bool))
        if not fits:
            yield place, f"is no {kind}"
    elif kind.startswith("list["):
        if not isinstance(value, list):
            yield place, "is no list"
            return
        for item in value:
            yield from check_value(kind[5:-1], item, place)
    elif kind.startswith("dict("):
        if not isinstance(value, dict):
            yield place, "is no object"
            return
        for item in value.values():
            yield from check_value(kind[5:-1].split(", ", 1)[1], item, place)
    else:
        yield from check_model(kind, value, place)


def check_model(kind, value, place):
    model = getattr(client, kind)
    if not isinstance(value, dict):
        yield place, "is no object"
        return
    attributes = {wire: name for name, wire in model.attribute_map.items()}
    given = {}
    for wire, content in value.items():
        inner = f"{kind}.{wire}"
        if (kind, wire) in YOUNGER:
            yield from check_value(YOUNGER[kind, wire], content, inner)
        elif wire not in attributes:
            yield inner, "is not known"
        else:
            given[attributes[wire]] = content
            yield from check_value(model.openapi_types[attributes[wire]], content, inner)
    try:
        model(local_vars_configuration=CONFIGURATION, **given)
    except ValueError as error:
        yield place, str(error)


def templates(document):
    """The pods of a document: itself, or its template."""
    spec = document.get("spec") or {}
    if document["kind"] == "Pod":
        yield document
    elif "jobTemplate" in spec:
        yield spec["jobTemplate"]["spec"]["template"]
    elif "template" in spec:
        yield spec["template"]


def port_is_wrong(port):
    return isinstance(port, int) and not 1 <= port <= 65535


def check_action(holder, place):
    actions = [name for name in ("exec", "httpGet", "tcpSocket", "grpc", "sleep") if holder.get(name)]
    if len(actions) != 1:
        yield place, "has not one action"
    for name in actions:
        if isinstance(holder[name], dict) and port_is_wrong(holder[name].get("port")):
            yield place, "has no port that can be"


def check_rules(pod):
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    if sum(len(str(k)) + len(str(v)) for k, v in annotations.items()) > MAX_ANNOTATION_BYTES:
        yield "annotations", "are too long"
    names = []
    for place in ("initContainers", "containers"):
        for container in (pod.get("spec") or {}).get(place) or []:
            names.append(container.get("name") or "")
            if not LABEL.fullmatch(names[-1]):
                yield place, "holds what has no name"
            for name in PROBES:
                if container.get(name):
                    yield from check_action(container[name], name)
                if container.get(name) and place == "initContainers":
                    if container.get("restartPolicy") != "Always":
                        yield name, "of an init container that ends"
            for name, hook in (container.get("lifecycle") or {}).items():
                yield from check_action(hook, name)
            seen = [one.get("name") for one in container.get("env") or []]
            if len(seen) != len(set(seen)):
                yield "env", "has a name twice"
    if len(names) != len(set(names)):
        yield "containers", "have a name twice"


def problems(document):
    if document.get("kind") == "List":
        found = set()
        for item in document.get("items") or []:
            found |= problems(item)
        return found
    kind = "V1" + document["kind"]
    if not hasattr(client, kind):
        return {(kind, "is not known")}
    found = set(check_model(kind, document, kind))
    for pod in templates(document):
        found |= set(check_rules(pod))
    return found


def main():
    cases = 0
    clean = 0
    for line in sys.stdin:
        case = json.loads(line)
        before, after = problems(case["before"]), problems(case["after"])
        if "--each" in sys.argv:
            print(sorted(after - before))
            continue
        if after - before:
            print("wrong:", sorted(after - before), json.dumps(case["after"]))
            sys.exit(1)
        cases += 1
        clean += not after
    if "--each" not in sys.argv:
        print(cases, clean)


main()
