//! Words, `key=value` pairs and quoted texts of one line.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Word(String),
    Pair(String, String),
    Quoted(String),
}

pub fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if rest.starts_with('"') {
            let (text, after) = quoted(rest)?;
            found.push(Token::Quoted(text));
            rest = after;
        } else {
            let end = rest.find([' ', '\t', '=']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            if let Some(value) = after.strip_prefix('=') {
                let (value, after) = value_of(value)?;
                found.push(Token::Pair(word.into(), value));
                rest = after;
            } else {
                found.push(Token::Word(word.into()));
            }
        }
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return Err(format!("expected a blank before '{rest}'"));
        }
        rest = rest.trim_start();
    }
    Ok(found)
}

fn value_of(text: &str) -> Result<(String, &str), String> {
    if text.starts_with('"') {
        return quoted(text);
    }
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    Ok((text[..end].into(), &text[end..]))
}

/// `\"`, `\\` and `\n` are the only escapes; any other backslash stands for itself, so that log
/// texts with regular expressions or paths need no care.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((out, &text[at + 1..])),
            '\\' => match chars.peek().map(|(_, next)| *next) {
                Some('"') => {
                    chars.next();
                    out.push('"');
                }
                Some('\\') => {
                    chars.next();
                    out.push('\\');
                }
                Some('n') => {
                    chars.next();
                    out.push('\n');
                }
                _ => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    Err("a quoted text has no end".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_into_words_pairs_and_texts() {
        let line = r#"Etcd/cluster Degraded=True message="a \"b\"\nc" "x y""#;
        assert_eq!(
            tokens(line),
            Ok(vec![
                Token::Word("Etcd/cluster".into()),
                Token::Pair("Degraded".into(), "True".into()),
                Token::Pair("message".into(), "a \"b\"\nc".into()),
                Token::Quoted("x y".into()),
            ])
        );
        assert!(tokens("message=\"open").is_err());
        assert!(tokens("\"a\"b").is_err());
    }
}
