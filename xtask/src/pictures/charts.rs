//! Which charts there are: what each shows, from which results, and the command that reproduces it.

/// A picture of some figures of one benchmark.
pub(super) struct Chart {
    pub(super) name: &'static str,
    /// What its bars or lines are.
    pub(super) title: &'static str,
    /// The file in `bench/results/`.
    pub(super) bench: &'static str,
    /// What has to be run for them.
    pub(super) command: &'static str,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// Side by side: ours, the yardstick's and the floor, for each subject with its label.
    Compared { rows: &'static [(&'static str, &'static str)], unit: Unit, largest: bool },
    /// How one figure grows with the number of objects.
    Growth { what: &'static str, unit: Unit, share: Share, objects: &'static str },
    /// Every figure as a part of what it may be at most.
    Bars,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    Megabytes,
}

/// Of what a figure that grows is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    Whole,
    /// For each object.
    Each,
}

const CLI: &str = "plimsoll sandbox exec -- target/dist/cli --json bench/results/cli.json";
const TERRAFORM: &str = "cargo run --profile dist -p bench --bin terraform -- --objects 100,1000,3000 --json bench/results/terraform.json";
const COMPOSITION: &str = "target/dist/composition 50 200 500 1000 --json bench/results/composition.json";

pub(super) const ALL: &[Chart] = &[
    Chart {
        name: "cli",
        title: "500 objects from the command line, in seconds",
        bench: "cli",
        command: CLI,
        kind: Kind::Compared {
            rows: &[
                ("apply of 500 new objects", "apply, new"),
                ("apply of 500 unchanged objects", "apply, unchanged"),
                ("plan of 500 unchanged objects", "plan, unchanged"),
            ],
            unit: Unit::Seconds,
            largest: false,
        },
    },
    Chart {
        name: "terraform",
        title: "The lifecycle of many ConfigMaps through Terraform, in seconds",
        bench: "terraform",
        command: TERRAFORM,
        kind: Kind::Compared {
            rows: &[
                ("plan", "plan"),
                ("apply", "apply"),
                ("no-op plan", "no-op plan"),
                ("change all", "change all"),
                ("destroy", "destroy"),
            ],
            unit: Unit::Seconds,
            largest: true,
        },
    },
    Chart {
        name: "terraform-apply",
        title: "Apply through Terraform, in milliseconds per object",
        bench: "terraform",
        command: TERRAFORM,
        kind: Kind::Growth {
            what: "apply",
            unit: Unit::Milliseconds,
            share: Share::Each,
            objects: "ConfigMaps",
        },
    },
    Chart {
        name: "terraform-plan",
        title: "Plan without a change through Terraform, in milliseconds per object",
        bench: "terraform",
        command: TERRAFORM,
        kind: Kind::Growth {
            what: "no-op plan",
            unit: Unit::Milliseconds,
            share: Share::Each,
            objects: "ConfigMaps",
        },
    },
    Chart {
        name: "terraform-memory",
        title: "Peak memory of the provider, in MB",
        bench: "terraform",
        command: TERRAFORM,
        kind: Kind::Growth {
            what: "memory",
            unit: Unit::Megabytes,
            share: Share::Whole,
            objects: "ConfigMaps",
        },
    },
    Chart {
        name: "composition-time",
        title: "Claims created at once until all are ready, in milliseconds per claim",
        bench: "composition",
        command: COMPOSITION,
        kind: Kind::Growth {
            what: "until all claims are ready",
            unit: Unit::Milliseconds,
            share: Share::Each,
            objects: "claims of four children",
        },
    },
    Chart {
        name: "composition-memory",
        title: "Memory of the operator, in MB",
        bench: "composition",
        command: COMPOSITION,
        kind: Kind::Growth {
            what: "memory of the operator",
            unit: Unit::Megabytes,
            share: Share::Whole,
            objects: "claims of four children",
        },
    },
    Chart {
        name: "scale",
        title: "2,500 claims and 10,000 Queues in one operator, as parts of what each figure may be",
        bench: "scale",
        command: "target/dist/scale --json bench/results/scale.json",
        kind: Kind::Bars,
    },
    Chart {
        name: "view",
        title: "The page and the tree on a cluster with 9,000 objects, as parts of what each figure may be",
        bench: "view",
        command: "target/dist/view --json bench/results/view.json",
        kind: Kind::Bars,
    },
    Chart {
        name: "cluster",
        title: "500 dry-run applies, in seconds",
        bench: "cluster",
        command: "plimsoll sandbox exec -- target/dist/cluster --json bench/results/cluster.json",
        kind: Kind::Compared {
            rows: &[("500 dry-run applies, 10 in flight", "10 in flight")],
            unit: Unit::Seconds,
            largest: false,
        },
    },
    Chart {
        name: "manifest",
        title: "5 MB of manifests, in milliseconds",
        bench: "manifest",
        command: "target/dist/manifest --json bench/results/manifest.json",
        kind: Kind::Compared {
            rows: &[("5 MB of manifests with spans", "read with spans")],
            unit: Unit::Milliseconds,
            largest: false,
        },
    },
    Chart {
        name: "fields",
        title: "FieldsV1 of an object of 100 kB, in milliseconds",
        bench: "fields",
        command: "target/dist/fields --json bench/results/fields.json",
        kind: Kind::Compared {
            rows: &[
                ("FieldsV1 decode and projection to leaves", "to leaves"),
                ("FieldsV1 decode and projection to an object", "to an object"),
            ],
            unit: Unit::Milliseconds,
            largest: false,
        },
    },
    Chart {
        name: "ownership",
        title: "Classifying 100,000 fields, in milliseconds",
        bench: "ownership",
        command: "target/dist/ownership --json bench/results/ownership.json",
        kind: Kind::Compared {
            rows: &[("classifying 100,000 fields of one object", "one object")],
            unit: Unit::Milliseconds,
            largest: false,
        },
    },
];
