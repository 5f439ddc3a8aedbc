//! The Helm chart in `deploy/chart`, made from the manifests in `deploy/`: each becomes a template with values in place of what an
//! installation chooses. Hand-written are only the values, their schema and the notes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Files of the chart that are written by hand.
const HAND_WRITTEN: [&str; 4] = [".helmignore", "values.yaml", "values.schema.json", "templates/NOTES.txt"];

/// The labels of the kustomization.
const LABELS: &str = "    app.kubernetes.io/name: plimsoll\n    app.kubernetes.io/component: operator\n";

/// A manifest in `deploy/`, and how it varies.
struct Manifest {
    name: &'static str,
    /// When it is part of an installation; always, if empty.
    when: &'static str,
    /// Whether every shard has a copy with a name of its own.
    per_shard: bool,
    /// Text of the manifest, which must be there, and what is in its place.
    edits: &'static [(&'static str, &'static str)],
}

/// All but the namespace, which Helm creates itself.
const MANIFESTS: &[Manifest] = &[
    always("service-account.yaml"),
    Manifest {
        edits: &[(
            "resourceNames: [plimsoll-operator]\n",
            "resourceNames: [plimsoll-operator{{ range $.Values.shards }}, plimsoll-operator-{{ . }}{{ end }}]\n",
        )],
        ..always("roles-common.yaml")
    },
    Manifest { when: "has \"oci\" $.Values.controllers", ..always("roles-oci.yaml") },
    Manifest { when: "has \"oci\" $.Values.controllers", ..always("roles-oci-kinds.yaml") },
    Manifest { when: "has \"composition\" $.Values.controllers", ..always("roles-composition.yaml") },
    Manifest { when: "has \"composition\" $.Values.controllers", ..always("requests.yaml") },
    Manifest { when: "$.Values.grantDefinedKinds", ..always("roles-definitions.yaml") },
    Manifest { when: "$.Values.userRoles", ..always("roles-users.yaml") },
    Manifest {
        when: "$.Values.tenantAccount",
        edits: &[("[plimsoll-composer]", "[{{ $.Values.tenantAccount }}]")],
        ..always("roles-impersonation.yaml")
    },
    Manifest { per_shard: true, edits: DEPLOYMENT, ..always("deployment.yaml") },
    // A budget for a single replica would block every drain.
    Manifest { when: "gt (int $.Values.replicas) 1", per_shard: true, ..always("disruption-budget.yaml") },
    Manifest { when: "$.Values.networkPolicy.enabled", per_shard: true, ..always("network-policy.yaml") },
    Manifest { when: "$.Values.monitoring.enabled", ..always("monitoring/alerts.yaml") },
    Manifest {
        when: "$.Values.monitoring.enabled",
        per_shard: true,
        edits: &[("service=\"plimsoll-operator-metrics\"", "service=\"{{ $name }}-metrics\"")],
        ..always("monitoring/leader.yaml")
    },
    Manifest {
        when: "and $.Values.monitoring.enabled $.Values.networkPolicy.enabled",
        per_shard: true,
        edits: &[(
            "kubernetes.io/metadata.name: monitoring\n",
            "kubernetes.io/metadata.name: {{ $.Values.monitoring.namespace }}\n",
        )],
        ..always("monitoring/network-policy.yaml")
    },
    Manifest { when: "$.Values.monitoring.enabled", ..always("monitoring/roles.yaml") },
    Manifest { when: "$.Values.monitoring.enabled", per_shard: true, ..always("monitoring/scrape.yaml") },
    Manifest { when: "$.Values.monitoring.enabled", per_shard: true, ..always("monitoring/service.yaml") },
];

const fn always(name: &'static str) -> Manifest {
    Manifest { name, when: "", per_shard: false, edits: &[] }
}

/// Where the containers of monitoring go.
const PROXY: &str = "{{ proxy }}";

const DEPLOYMENT: &[(&str, &str)] = &[
    ("  replicas: 2\n", "  replicas: {{ $.Values.replicas }}\n"),
    (
        "      labels:\n        app: plimsoll-operator\n    spec:\n      serviceAccountName: plimsoll-operator\n",
        r"      labels:
        app: plimsoll-operator
        {{- with $.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $.Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ $account }}
      {{- with $.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      {{- range $field := list `nodeSelector` `tolerations` `topologySpreadConstraints` `priorityClassName` }}
      {{- with index $.Values $field }}
      {{ $field }}: {{ toJson . }}
      {{- end }}
      {{- end }}
      {{- with $.Values.functionCertificates }}
      volumes:
        - name: function-certificates
          secret:
            secretName: {{ . }}
      {{- end }}
",
    ),
    (
        "          image: plimsoll\n",
        r"          image: {{ $.Values.image.repository }}{{ with $.Values.image.digest }}@{{ . }}{{ else }}:{{ $.Values.image.tag | default $.Chart.AppVersion }}{{ end }}
          {{- with $.Values.image.pullPolicy }}
          imagePullPolicy: {{ . }}
          {{- end }}
",
    ),
    (
        "            - --health-address=0.0.0.0:8081\n",
        r"            - --health-address=0.0.0.0:8081
            {{- if ne (len $.Values.controllers) 2 }}
            - --controllers={{ join `,` $.Values.controllers }}
            {{- end }}
            {{- with $.Values.tenantAccount }}
            - --default-service-account={{ . }}
            {{- end }}
            {{- range $function, $endpoint := $.Values.functions }}
            - {{ printf `--function=%s=%s` $function $endpoint | quote }}
            {{- end }}
            {{- if $.Values.functionCertificates }}
            - --function-certs-dir=/etc/plimsoll/function-certificates
            {{- end }}
            {{- range $.Values.arguments }}
            - {{ quote . }}
            {{- end }}
            {{- if $shard }}
            - --watch-label-selector=plimsoll.dev/shard={{ $shard }}
            - --lease-name=plimsoll-operator-{{ $shard }}
            {{- else if $.Values.shards }}
            - --watch-label-selector=!plimsoll.dev/shard
            {{- end }}
          {{- with $.Values.env }}
          env:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $.Values.envSecrets }}
          envFrom:
            {{- range . }}
            - secretRef:
                name: {{ . }}
            {{- end }}
          {{- end }}
          {{- if $.Values.functionCertificates }}
          volumeMounts:
            - name: function-certificates
              mountPath: /etc/plimsoll/function-certificates
              readOnly: true
          {{- end }}
",
    ),
    (
        "            requests:\n              cpu: 50m\n              memory: 64Mi\n            limits:\n              memory: 512Mi\n",
        r"            {{- if $.Values.resources }}
            {{- toYaml $.Values.resources | nindent 12 }}
            {{- else }}
            requests:
              cpu: 50m
              memory: 64Mi
            limits:
              memory: 512Mi
            {{- end }}
",
    ),
    ("              drop: [ALL]\n", "              drop: [ALL]\n{{ proxy }}"),
];

pub(crate) fn run(root: &Path) -> Result<()> {
    let chart = root.join("deploy/chart");
    let files = generate(root)?;
    for name in present(&chart)?.difference(&files.keys().cloned().collect()) {
        fs::remove_file(chart.join(name)).with_context(|| format!("removing {name}"))?;
    }
    for (name, text) in files {
        let path = chart.join(name);
        let folder = path.parent().context("a file has a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// The generated files in the chart, as they are.
fn present(chart: &Path) -> Result<BTreeSet<String>> {
    let (mut names, mut folders) = (BTreeSet::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(chart.join(&folder)).with_context(|| format!("reading {folder}"))? {
            let entry = entry?;
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(format!("{name}/"));
            } else if !HAND_WRITTEN.contains(&name.as_str()) {
                names.insert(name);
            }
        }
    }
    Ok(names)
}

/// The generated files of the chart, by name.
fn generate(root: &Path) -> Result<BTreeMap<String, String>> {
    let read = |name: &str| {
        fs::read_to_string(root.join("deploy").join(name)).with_context(|| format!("reading deploy/{name}"))
    };
    let mut files = BTreeMap::from([
        ("Chart.yaml".to_owned(), chart_yaml(env!("CARGO_PKG_VERSION"))),
        ("templates/crds.yaml".to_owned(), CRDS.to_owned()),
        ("templates/monitoring-dashboard.yaml".to_owned(), labelled(DASHBOARD)),
        ("files/dashboard.json".to_owned(), read("monitoring/dashboard.json")?),
    ]);
    let proxy = proxy_containers(&read("monitoring/proxy.yaml")?)?;
    for manifest in MANIFESTS {
        let text = template(manifest, &read(manifest.name)?)?.replace(PROXY, &proxy);
        files.insert(format!("templates/{}", manifest.name.replace('/', "-")), text);
    }
    for entry in fs::read_dir(root.join("deploy/crds")).context("reading deploy/crds")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // Helm deletes what it has installed, and with a CRD all objects of its kind.
        let kept = "metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n";
        let text = labelled(&read(&format!("crds/{name}"))?).replacen("metadata:\n", kept, 1);
        ensure!(text.matches("\n  annotations:\n").count() == 1, "crds/{name} has annotations of its own");
        files.insert(format!("files/crds/{name}"), text);
    }
    Ok(files)
}

fn chart_yaml(version: &str) -> String {
    format!(
        "# Generated by `cargo xtask chart`.
apiVersion: v2
name: plimsoll
description: Compositions with claims, and cloud resources with asynchronous operations
type: application
version: {version}
appVersion: {version:?}
kubeVersion: \">=1.33.0-0\"
"
    )
}

/// The CRDs of the chosen controllers. As templates, because Helm never updates what is in `crds/`.
const CRDS: &str = r#"{{- /* Generated by `cargo xtask chart`. */ -}}
{{- if $.Values.crds.install }}
{{- range $path, $_ := $.Files.Glob "files/crds/*.yaml" }}
{{- if has (ternary "oci" "composition" (contains ".oracle.com." $path)) $.Values.controllers }}
---
{{ $.Files.Get $path }}
{{- end }}
{{- end }}
{{- end }}
"#;

/// The dashboard as a file, since it contains templates of Grafana. The kustomization generates the same object.
const DASHBOARD: &str = r#"{{- /* Generated by `cargo xtask chart`. */ -}}
{{- if $.Values.monitoring.enabled }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: plimsoll-dashboard
  namespace: {{ $.Release.Namespace }}
  labels:
    grafana_dashboard: "1"
data:
  dashboard.json: {{ $.Files.Get "files/dashboard.json" | toJson }}
{{- end }}
"#;

/// A manifest as a template.
fn template(manifest: &Manifest, text: &str) -> Result<String> {
    // Alerts contain templates of Prometheus.
    let mut text = labelled(text).replace("{{", "{{ `{{` }}");
    for (found, replacement) in manifest.edits {
        let count = text.matches(found).count();
        ensure!(count == 1, "{} contains {found:?} {count} times", manifest.name);
        text = text.replace(found, replacement);
    }
    if manifest.per_shard {
        text = text
            .replace(": plimsoll-operator", ": {{ $name }}")
            .replace("{{ $account }}", "plimsoll-operator");
    }
    let text = text.replace("namespace: plimsoll-system\n", "namespace: {{ $.Release.Namespace }}\n");
    let mut template = String::from("{{- /* Generated by `cargo xtask chart`. */ -}}\n");
    let mut ends = 0;
    if !manifest.when.is_empty() {
        template.extend(["{{- if ", manifest.when, " }}\n"]);
        ends += 1;
    }
    if manifest.per_shard {
        template.push_str(
            "{{- range $shard := prepend $.Values.shards \"\" }}
{{- $name := ternary (printf \"plimsoll-operator-%s\" $shard) \"plimsoll-operator\" (ne $shard \"\") }}
---
",
        );
        ends += 1;
    }
    template.push_str(&text);
    template.push_str(&"{{- end }}\n".repeat(ends));
    Ok(template)
}

/// Adds the labels of the kustomization to every document.
fn labelled(text: &str) -> String {
    let label = |document: &str| {
        let Some((before, rest)) = document.split_once("metadata:\n") else { return document.to_owned() };
        let length = rest.split_inclusive('\n').take_while(|line| line.starts_with("  ")).map(str::len).sum();
        let (metadata, after) = rest.split_at(length);
        let metadata = if metadata.contains("  labels:\n") {
            metadata.replacen("  labels:\n", &format!("  labels:\n{LABELS}"), 1)
        } else {
            format!("{metadata}  labels:\n{LABELS}")
        };
        format!("{before}metadata:\n{metadata}{after}")
    };
    text.split("---\n").map(label).collect::<Vec<_>>().join("---\n")
}

/// The containers that monitoring adds to the operator's pods.
fn proxy_containers(patch: &str) -> Result<String> {
    let (_, containers) = patch.split_once("      containers:\n").context("the patch adds containers")?;
    Ok(format!("        {{{{- if $.Values.monitoring.enabled }}}}\n{containers}        {{{{- end }}}}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_is_up_to_date() {
        let root = crate::root();
        let chart = root.join("deploy/chart");
        let expected = generate(&root).unwrap();
        assert_eq!(present(&chart).unwrap(), expected.keys().cloned().collect());
        for (name, text) in expected {
            let is_fresh = fs::read_to_string(chart.join(&name)).unwrap() == text;
            assert!(is_fresh, "deploy/chart/{name} is stale: run `cargo xtask chart`");
        }
    }

    #[test]
    fn every_manifest_is_in_the_chart() {
        let deploy = crate::root().join("deploy");
        let mut files = BTreeSet::new();
        for folder in ["", "monitoring/"] {
            for entry in fs::read_dir(deploy.join(folder)).unwrap() {
                let name = format!("{folder}{}", entry.unwrap().file_name().to_string_lossy());
                let is_manifest = Path::new(&name).extension().is_some_and(|extension| extension == "yaml");
                if is_manifest && !name.ends_with("kustomization.yaml") {
                    files.insert(name);
                }
            }
        }
        // Helm creates the namespace, and the proxy is part of the Deployment.
        let others = ["namespace.yaml", "monitoring/proxy.yaml"].map(str::to_owned);
        let listed = MANIFESTS.iter().map(|manifest| manifest.name.to_owned()).chain(others);
        assert_eq!(files, listed.collect());
    }

    #[test]
    fn labels_join_those_of_an_object() {
        let own = "kind: A\nmetadata:\n  name: a\n  labels:\n    app: a\nspec: {}\n";
        let labelled = labelled(&format!("{own}---\nkind: B\nmetadata:\n  name: b\n"));
        let expected = format!(
            "kind: A\nmetadata:\n  name: a\n  labels:\n{LABELS}    app: a\nspec: {{}}\n---\nkind: B\nmetadata:\n  name: b\n  labels:\n{LABELS}"
        );
        assert_eq!(labelled, expected);
    }
}
