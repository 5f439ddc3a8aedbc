//! Prints findings that are the same for many objects once, and names the other objects.

use diag::Diagnostic;
use manifest::ObjectRef;

use super::Report;
use super::composites::Composites;
use super::text::some;

/// All findings, problems of the files first.
pub(crate) fn findings(report: &Report) -> Vec<Diagnostic> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let of_objects = report
        .objects
        .iter()
        .flat_map(|object| object.findings.iter().map(|finding| (&object.target, finding)));
    let of_composites = report.composites.iter().flat_map(Composites::findings);
    for (target, finding) in of_objects.chain(of_composites) {
        let key = without_name(finding, target);
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.others.push(target.to_string()),
            None => groups.push(Group { key, finding, others: Vec::new() }),
        }
    }
    let unlisted = report.set.iter().flat_map(|set| &set.set.unlisted);
    let unknown = report.composites.iter().flat_map(|composites| &composites.problems);
    let problems = report.problems.iter().chain(unlisted).chain(unknown).cloned();
    problems.chain(groups.into_iter().map(Group::merged)).collect()
}

struct Group<'r> {
    key: [String; 3],
    /// The finding of the first object.
    finding: &'r Diagnostic,
    others: Vec<String>,
}

/// Code, summary and detail of a finding without the name of its object.
fn without_name(finding: &Diagnostic, target: &ObjectRef) -> [String; 3] {
    let names =
        [target.to_string(), format!("{}/{}", target.kind(), target.name), format!("{:?}", target.name)];
    let general =
        |text: &str| names.iter().fold(text.to_owned(), |text, name| text.replace(name.as_str(), "\0"));
    [finding.code.name().to_owned(), general(&finding.summary), general(&finding.detail)]
}

impl Group<'_> {
    fn merged(self) -> Diagnostic {
        let mut finding = self.finding.clone();
        let same = match self.others.len() {
            0 => return finding,
            1 => format!("The same applies to {}.", self.others[0]),
            count => format!("The same applies to {count} others: {}.", some(&self.others)),
        };
        let gap = if finding.detail.is_empty() { "" } else { "\n\n" };
        finding.detail.push_str(gap);
        finding.detail.push_str(&same);
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;
    use crate::support::report::ObjectReport;

    #[test]
    fn the_same_finding_for_many_objects_is_printed_once() {
        let target = |kind: &str, name: &str| {
            ObjectRef::new(format!("v1/{kind}").parse().unwrap(), manifest::Namespace::new("shop"), name)
        };
        let refused = |target: &ObjectRef, detail: &str| {
            let summary = format!("no room ({}/{})", target.kind(), target.name);
            let why = Diagnostic::error(codes::ENVIRONMENT, summary).detail(detail);
            ObjectReport::refused(target, why.object(target.to_string()))
        };
        let same = |target: &ObjectRef| refused(target, &format!("{target} needs {:?}", target.name));
        let mut objects: Vec<ObjectReport> =
            ["a", "b", "c", "d", "e"].map(|name| same(&target("Secret", name))).into();
        objects.push(refused(&target("Secret", "f"), "another thing"));
        let found = findings(&Report { objects, problems: Vec::new(), set: None, composites: None });
        let shown: Vec<_> = found.iter().map(|it| (it.summary.as_str(), it.detail.as_str())).collect();
        assert_eq!(
            shown,
            [
                (
                    "no room (Secret/a)",
                    "Secret shop/a needs \"a\"\n\nThe same applies to 4 others: Secret shop/b, Secret shop/c, Secret shop/d and 1 more."
                ),
                ("no room (Secret/f)", "another thing"),
            ]
        );
    }
}
