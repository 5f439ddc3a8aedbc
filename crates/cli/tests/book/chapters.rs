//! Chapters that presume something, such as a cluster with objects: what they presume is made first.

use testkit::terraform::Client;

use crate::reader::Reader;

const SANDBOX: &str = include_str!("before/sandbox.sh");
/// The namespace `shop` with the file of a Deployment, which does not exist yet.
const WEB: &str = include_str!("before/web.sh");
/// A Terraform configuration that names the provider.
const PROVIDER: &str = include_str!("before/provider.sh");

/// Follows a chapter from top to bottom, after `before` and then `after` it.
fn follow(reader: &Reader, chapter: &str, before: &[&str], after: &str) {
    reader.follow(&format!("book/src/{chapter}.md"), &before.concat(), after, |_| true);
}

#[test]
fn on_ownership() {
    let before = [SANDBOX, WEB, include_str!("before/ownership.sh")];
    follow(&Reader::new(), "ownership", &before, "");
}

#[test]
fn on_values() {
    let before = [SANDBOX, WEB, PROVIDER, include_str!("before/values.sh")];
    follow(&Reader::new(), "values", &before, include_str!("after/values.sh"));
}

#[test]
fn on_ordering() {
    let before = [SANDBOX, WEB, PROVIDER, include_str!("before/ordering.sh")];
    follow(&Reader::new(), "ordering", &before, "");
}

#[test]
fn on_adopting() {
    let before = [SANDBOX, WEB, PROVIDER, include_str!("before/adopting.sh")];
    let reader = Reader::with(&Client::terraform_1_14());
    follow(&reader, "adopting", &before, include_str!("after/adopting.sh"));
}

#[test]
fn on_tenants() {
    follow(&Reader::new(), "tenants", &[SANDBOX, "kubectl create namespace team-a\n"], "");
}

#[test]
fn on_scale() {
    follow(&Reader::new(), "scale", &[SANDBOX], "");
}

#[test]
fn on_operations() {
    follow(&Reader::new(), "operations", &[SANDBOX, WEB], "");
}

#[test]
fn on_installing() {
    follow(&Reader::new(), "installing", &[SANDBOX, PROVIDER], "");
}
