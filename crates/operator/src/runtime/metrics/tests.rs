//! What Prometheus would read.

use super::*;

/// The samples whose names contain `name`, sorted.
fn samples(metrics: &Metrics, name: &str) -> String {
    let text = metrics.text(Timestamp::from_second(1000).unwrap());
    let mut lines: Vec<&str> =
        text.lines().filter(|line| line.contains(name) && !line.starts_with('#')).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn reconciles_are_timed_and_queues_counted_together() {
    let metrics = Metrics::new();
    metrics.reconciled("composite", "ok", Duration::from_millis(20));
    let queue = Arc::new(3);
    let weak = Arc::downgrade(&queue);
    metrics.queue("composite", move || weak.upgrade().map(|depth| *depth));
    metrics.queue("composite", || Some(2));
    assert_eq!(samples(&metrics, "queue_depth"), r#"plimsoll_queue_depth{controller="composite"} 5"#);
    drop(queue);
    assert_eq!(samples(&metrics, "queue_depth"), r#"plimsoll_queue_depth{controller="composite"} 2"#);
    let count = r#"plimsoll_reconcile_seconds_count{controller="composite",outcome="ok"} 1"#;
    assert_eq!(samples(&metrics, "reconcile_seconds_count"), count);
}

struct Apples(Gauge);

impl Part for Apples {
    fn register(registry: &mut Registry) -> Self {
        Self(kept(registry, "apples", "Apples"))
    }

    fn show(&self, now: Timestamp) {
        self.0.set(now.as_second());
    }

    fn clear(&self) {}
}

#[test]
fn a_part_is_registered_once_and_shown_with_the_rest() {
    let metrics = Metrics::new();
    metrics.leading(true);
    assert!(Arc::ptr_eq(&metrics.part::<Apples>(), &metrics.part::<Apples>()));
    assert_eq!(samples(&metrics, ""), "plimsoll_apples 1000\nplimsoll_leader 1");
}
