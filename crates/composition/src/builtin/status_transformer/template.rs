//! Messages with captured groups in them: text and `{{ .Group }}`, which is what of Go's templates is in use.

use super::Groups;

/// Fills in the groups. A group that captured nothing reads as Go prints it, `<no value>`.
pub(super) fn render(template: &str, groups: &Groups) -> Result<String, String> {
    let mut rendered = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((text, tail)) = rest.split_once("{{") {
        rendered.push_str(text);
        let (action, tail) = tail.split_once("}}").ok_or_else(|| format!("unclosed {{{{ in {template:?}"))?;
        let group = action.trim().strip_prefix('.').filter(|name| is_identifier(name));
        let name = group.ok_or_else(|| {
            format!("{{{{{action}}}}} is not supported: write the name of a group, such as {{{{ .Error }}}}")
        })?;
        rendered.push_str(groups.get(name).map_or("<no value>", String::as_str));
        rest = tail;
    }
    rendered.push_str(rest);
    Ok(rendered)
}

fn is_identifier(name: &str) -> bool {
    let starts = |c: char| c.is_alphabetic() || c == '_';
    name.starts_with(starts) && name.chars().all(|c| starts(c) || c.is_numeric())
}
