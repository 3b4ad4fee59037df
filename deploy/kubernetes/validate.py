"""Checks rendered manifests strictly against Kubernetes's schemas, and their references to one another.

Usage: python validate.py FILE    prints the number of objects; faults go to stderr, with exit code 1.
"""

import sys

import kubernetes_validate
import yaml

PREFIX = "keda.sh/"


def pods(item):
    return item.get("spec", {}).get("template", {}).get("spec") if item["kind"] in ("Deployment", "Job") else None


def schema_faults(item):
    if item["apiVersion"].startswith(PREFIX):
        return
    try:
        kubernetes_validate.validate(item, kubernetes_validate.latest_version(), strict=True)
    except kubernetes_validate.ValidationError as fault:
        yield f"{'.'.join(map(str, fault.path))}: {fault.message}"


def pod_faults(pod):
    """Yields the faults of a pod against Bellhop's own rules, which no schema has."""
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    if not pod.get("securityContext", {}).get("runAsNonRoot"):
        yield "it may run as root"
    for container in pod["containers"]:
        context = container.get("securityContext", {})
        if not context.get("readOnlyRootFilesystem") or context.get("capabilities", {}).get("drop") != ["ALL"]:
            yield f"{container['name']} may write or has capabilities"
        if "limits" not in container.get("resources", {}):
            yield f"{container['name']} has no memory limit"
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                yield f"{container['name']} mounts {mount['name']}, which is not a volume"


def missing_faults(items):
    """Yields missing parts: every deployment needs probes, a budget, and its own network policy."""
    meant = [
        (item["kind"], (item["spec"].get("podSelector") or item["spec"].get("selector", {})).get("matchLabels"))
        for item in items
        if item["kind"] in ("PodDisruptionBudget", "NetworkPolicy")
    ]
    for item in items:
        if item["kind"] != "Deployment":
            continue
        labels = item["spec"]["selector"]["matchLabels"]
        for kind in ("PodDisruptionBudget", "NetworkPolicy"):
            if (kind, labels) not in meant:
                yield f"Deployment {item['metadata']['name']}: its {kind} is missing"
        for container in pods(item)["containers"]:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if probe not in container:
                    yield f"Deployment {item['metadata']['name']}: {container['name']} has no {probe}"


def reference_faults(items):
    """Yields budgets, policies, services and scalers without matching pods."""
    deployments = {item["metadata"]["name"]: item for item in items if item["kind"] == "Deployment"}
    labels = [item["spec"]["template"]["metadata"]["labels"] for item in items if pods(item)]
    for item in items:
        name, spec = f"{item['kind']} {item['metadata']['name']}", item.get("spec", {})
        selector = {"PodDisruptionBudget": spec.get("selector", {}), "NetworkPolicy": spec.get("podSelector", {})}
        wanted = selector.get(item["kind"], {}).get("matchLabels")
        wanted = spec.get("selector") if item["kind"] == "Service" else wanted
        if wanted and not any(wanted.items() <= found.items() for found in labels):
            yield f"{name} selects no pod"
        if item["kind"] == "ScaledObject":
            target = deployments.get(spec["scaleTargetRef"]["name"])
            if target is None or "replicas" in target["spec"]:
                yield f"{name} scales a missing deployment, or one with a fixed number of replicas"


def main(path):
    with open(path, encoding="utf-8") as file:
        items = [item for item in yaml.safe_load_all(file) if item]
    faults = [*reference_faults(items), *missing_faults(items)]
    for item in items:
        found = list(schema_faults(item)) + list(pod_faults(pods(item)) if pods(item) else [])
        faults += [f"{item['kind']} {item['metadata']['name']}: {fault}" for fault in found]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(len(items))
    return 1 if faults or not items else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
