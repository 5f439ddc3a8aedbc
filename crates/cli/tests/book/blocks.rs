//! The files and commands in a page of Markdown.

/// A block of a page that the reader saves or runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Commands, in order.
    Commands(Vec<String>),
    /// Commands after a `$`, each with lines of what it prints.
    Transcript(Vec<(String, Vec<String>)>),
    /// A file to save: ```` ```yaml file=shop.yaml ````.
    File { name: String, content: String },
}

/// The blocks of a page; those in other languages and without a name are only shown.
pub(crate) fn of(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if info == "sh" {
            blocks.push(Block::Commands(commands(&body)));
        } else if info == "console" && body.iter().any(|line| line.starts_with(PROMPT)) {
            blocks.push(Block::Transcript(transcript(&body)));
        } else if let Some((_, name)) = info.split_once(" file=") {
            blocks.push(Block::File { name: name.to_owned(), content: body.join("\n") + "\n" });
        }
    }
    blocks
}

const PROMPT: &str = "$ ";

fn transcript(lines: &[&str]) -> Vec<(String, Vec<String>)> {
    let mut steps: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        match (line.strip_prefix(PROMPT), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), Vec::new())),
            (None, Some((_, output))) => output.push((*line).to_owned()),
            (None, None) => {}
        }
    }
    steps
}

/// One command per line, without a trailing comment; a here-document belongs to its command.
fn commands(lines: &[&str]) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        let command = line.split("  # ").next().unwrap_or(line).trim_end();
        if command.is_empty() {
            continue;
        }
        let mut command = command.to_owned();
        if command.ends_with("<<EOF") {
            for line in lines.by_ref() {
                command.push('\n');
                command.push_str(line);
                if *line == "EOF" {
                    break;
                }
            }
        }
        commands.push(command);
    }
    commands
}

#[test]
fn commands_and_files_are_distinguished_from_output() {
    let transcript = "```console\n$ ls\na\nb\n$ pwd\n```\n```console\nnot run\n```\n";
    let steps = vec![("ls".to_owned(), vec!["a".to_owned(), "b".to_owned()]), ("pwd".to_owned(), Vec::new())];
    assert_eq!(of(transcript), [Block::Transcript(steps)]);
    let page = "a\n```sh\nls -l  # all\n\ncat <<EOF\nx\nEOF\n```\n```text\nno\n```\n```yaml file=a.yaml\nk: v\n```\n";
    assert_eq!(
        of(page),
        [
            Block::Commands(vec!["ls -l".to_owned(), "cat <<EOF\nx\nEOF".to_owned()]),
            Block::File { name: "a.yaml".to_owned(), content: "k: v\n".to_owned() },
        ]
    );
}
