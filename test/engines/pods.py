#!/usr/bin/env python3
"""What a manifest of Kubernetes makes: checks it, and tells for each pod how the kubelet would start it.

    pods.py MANIFEST MADE VOLUMES

MADE is the folder with what the Secret is made of (the files of `tenon certificates`, and "token"); VOLUMES that in which each volume
is a folder. Printed is a line a pod, for bash: its host name, what its readiness probe asks, then its command with its variables. Schemas are asked where
kubernetes_validate is installed (pip); JOBSET_SCHEMA names the JobSet's definition (jobset.x-k8s.io_jobsets.yaml).
"""
import os, pathlib, shlex, sys

import yaml

manifest, made, volumes = sys.argv[1:]
documents = list(yaml.safe_load_all(open(manifest)))


def wrong(text):
    sys.exit(f"{manifest}: {text}")


def schemas():
    try:
        import kubernetes_validate
    except ImportError:
        print("kubernetes_validate is not installed: the schemas are not asked", file=sys.stderr)
        return
    for d in documents:
        if d["kind"] != "JobSet":
            kubernetes_validate.validate(d, kubernetes_validate.latest_version(), strict=True)
            continue
        for j in d["spec"]["replicatedJobs"]:  # what is in it is a Job
            kubernetes_validate.validate({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": j["name"]}, "spec": j["template"]["spec"]},
                                         kubernetes_validate.latest_version(), strict=True)
        if "JOBSET_SCHEMA" in os.environ:
            import jsonschema
            crd = yaml.safe_load(open(os.environ["JOBSET_SCHEMA"]))
            version, = [v for v in crd["spec"]["versions"] if d["apiVersion"].endswith("/" + v["name"])]
            jsonschema.validate(d, closed(version["schema"]["openAPIV3Schema"]))
    print("the schemas agree", file=sys.stderr)


def closed(schema):
    """Members that a schema does not know are wrong, and IntOrString is both."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    schema = {k: closed(v) for k, v in schema.items() if k != "format"}
    if schema.get("type") == "object" and schema.get("properties"):
        schema.setdefault("additionalProperties", False)
    return schema


def members(of, where, known, needed=()):
    """Without schemas: names that are none are found, and what must be there."""
    for name in of:
        if name not in known.split():
            wrong(f"{where}: {name} is no member")
    for name in needed:
        if name not in of:
            wrong(f"{where}: there is no {name}")


def the(kind):
    found = [d for d in documents if d["kind"] == kind]
    return found[0] if found else None


def check_pod(template, service):
    pod = template["spec"]
    members(pod, "pod", "subdomain restartPolicy terminationGracePeriodSeconds automountServiceAccountToken securityContext containers volumes",
            ("restartPolicy", "containers"))
    c, = pod["containers"]
    members(c, "container", "name image command args env ports startupProbe livenessProbe readinessProbe resources securityContext volumeMounts",
            ("image", "startupProbe", "livenessProbe", "readinessProbe"))
    ports = {p["name"]: p["containerPort"] for p in c["ports"]}
    for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        get = c[probe]["httpGet"]
        if get["path"] != path or ports[get["port"]] != int(plain(c, "TENON_HTTP").rsplit(":")[-1]):
            wrong(f"{probe} does not ask where TENON_HTTP says")
    if pod["terminationGracePeriodSeconds"] <= int(plain(c, "TENON_GRACE")):
        wrong("pods are killed before TENON_GRACE is over")
    if c["startupProbe"]["periodSeconds"] * c["startupProbe"]["failureThreshold"] <= int(plain(c, "TENON_JOIN_TIMEOUT")):
        wrong("pods are killed before TENON_JOIN_TIMEOUT is over")
    there = {v["name"]: v for v in pod["volumes"]}
    for m in c["volumeMounts"]:
        if m["name"] not in there:
            wrong(f"there is no volume {m['name']}")
    claims = {v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if "persistentVolumeClaim" in v}
    if claims - {the("PersistentVolumeClaim")["metadata"]["name"]}:
        wrong("a claim of a volume is not made")
    for v in pod["volumes"]:
        for item in v.get("secret", {}).get("items", ()):
            if not pathlib.Path(made, item["key"]).is_file():
                wrong(f"the Secret has no {item['key']}")
    if service and (pod["subdomain"] != service["metadata"]["name"] or service["spec"]["clusterIP"] != "None" or
                    not service["spec"]["publishNotReadyAddresses"]):
        wrong("pods do not find each other: they need a headless service of the name of their subdomain")
    if service and not service["spec"]["selector"].items() <= template["metadata"]["labels"].items():
        wrong("the service does not select the pods")


def plain(container, name):
    return next(e["value"] for e in container["env"] if e["name"] == name)


def tell(host, domain, template, annotations, index):
    c = template["spec"]["containers"][0]
    mounts = {m["mountPath"]: f"{volumes}/{m['name']}" for m in c["volumeMounts"]}
    variables = {"HOSTNAME": host, "JOB_COMPLETION_INDEX": str(index), "KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    for e in c["env"]:
        if "value" in e:
            value = e["value"]
        elif "secretKeyRef" in e["valueFrom"]:
            value = pathlib.Path(made, e["valueFrom"]["secretKeyRef"]["key"]).read_text().strip()
        else:
            value = annotations[e["valueFrom"]["fieldRef"]["fieldPath"].split("'")[1]]
        for path, folder in mounts.items():
            if value == path or value.startswith(path + "/"):
                value = folder + value[len(path):]
        variables[e["name"]] = value
    get = c["readinessProbe"]["httpGet"]
    port = next(p["containerPort"] for p in c["ports"] if p["name"] == get["port"])
    print(host, f"{get['scheme'].lower()}://{host}.{domain}:{port}{get['path']}", shlex.join(["env", "-i", f"PATH={os.environ['PATH']}", *(f"{n}={v}" for n, v in variables.items()),
                                                *c["command"], *c["args"]]))


schemas()
if the("Job"):
    job = the("Job")
    check_pod(job["spec"]["template"], the("Service"))
    if job["spec"]["completionMode"] != "Indexed" or job["spec"]["completions"] != job["spec"]["parallelism"]:
        wrong("all pods must run at once, each with its index")
    for index in range(job["spec"]["completions"]):
        tell(f"{job['metadata']['name']}-{index}", job["spec"]["template"]["spec"]["subdomain"], job["spec"]["template"], {}, index)
if the("JobSet"):
    jobset = the("JobSet")
    name = jobset["metadata"]["name"]
    members(jobset["spec"], "JobSet", "network failurePolicy successPolicy replicatedJobs startupPolicy suspend", ("replicatedJobs",))
    for j in jobset["spec"]["replicatedJobs"]:
        spec = j["template"]["spec"]
        check_pod(spec["template"], None)
        for of in range(j["replicas"]):
            for index in range(spec["completions"]):
                tell(f"{name}-{j['name']}-{of}-{index}", jobset["spec"]["network"]["subdomain"], spec["template"],
                     {"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": j["name"],
                      "jobset.sigs.k8s.io/job-index": str(of)}, index)
