//! JSON with the words that `encoding/json` has for what is wrong with it.

use super::text::quote;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool,
    Number,
    Text(String),
    List,
    Map(Vec<(String, Json)>),
}

impl Json {
    /// As in "cannot unmarshal … into".
    pub fn word(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool => "bool",
            Json::Number => "number",
            Json::Text(_) => "string",
            Json::List => "array",
            Json::Map(_) => "object",
        }
    }
}

/// Deeper than any pull secret, and safe for the stack.
const DEPTH: usize = 200;

pub(crate) fn parse(text: &str) -> Result<Json, String> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    let value = scanner.value(0)?;
    scanner.skip_space();
    match scanner.peek() {
        None => Ok(value),
        Some(byte) => Err(unexpected(byte, "after top-level value")),
    }
}

struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
}

fn unexpected(byte: u8, wanted: &str) -> String {
    let shown = match byte {
        b'\'' => r"'\''".to_string(),
        b'"' => "'\"'".to_string(),
        other => {
            let quoted = quote(&char::from(other).to_string());
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    };
    format!("invalid character {shown} {wanted}")
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, String> {
        let byte = self.peek().ok_or("unexpected end of JSON input")?;
        self.at += 1;
        Ok(byte)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH {
            return Err("exceeded max depth".into());
        }
        self.skip_space();
        match self.next()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.text().map(Json::Text),
            b'-' => {
                let byte = self.next()?;
                if !byte.is_ascii_digit() {
                    return Err(unexpected(byte, "in numeric literal"));
                }
                self.number(byte)
            }
            byte if byte.is_ascii_digit() => self.number(byte),
            b't' => self.word("true", Json::Bool),
            b'f' => self.word("false", Json::Bool),
            b'n' => self.word("null", Json::Null),
            byte => Err(unexpected(byte, "looking for beginning of value")),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, String> {
        for expected in word.chars().skip(1) {
            let byte = self.next()?;
            if char::from(byte) != expected {
                let wanted = format!("in literal {word} (expecting '{expected}')");
                return Err(unexpected(byte, &wanted));
            }
        }
        Ok(value)
    }

    fn number(&mut self, first: u8) -> Result<Json, String> {
        if first != b'0' {
            self.skip_digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            let byte = self.next()?;
            if !byte.is_ascii_digit() {
                return Err(unexpected(byte, "after decimal point in numeric literal"));
            }
            self.skip_digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let mut byte = self.next()?;
            if matches!(byte, b'+' | b'-') {
                byte = self.next()?;
            }
            if !byte.is_ascii_digit() {
                return Err(unexpected(byte, "in exponent of numeric literal"));
            }
            self.skip_digits();
        }
        Ok(Json::Number)
    }

    fn skip_digits(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// Behind the opening quote.
    fn text(&mut self) -> Result<String, String> {
        let mut out = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Ok(String::from_utf8_lossy(&out).into_owned()),
                b'\\' => {
                    let byte = self.next()?;
                    match byte {
                        b'b' => out.push(8),
                        b'f' => out.push(12),
                        b'n' => out.push(b'\n'),
                        b'r' => out.push(b'\r'),
                        b't' => out.push(b'\t'),
                        b'\\' | b'/' | b'"' => out.push(byte),
                        b'u' => {
                            let character = self.hex_character()?;
                            out.extend_from_slice(character.to_string().as_bytes());
                        }
                        _ => return Err(unexpected(byte, "in string escape code")),
                    }
                }
                byte if byte < 0x20 => return Err(unexpected(byte, "in string literal")),
                byte => out.push(byte),
            }
        }
    }

    fn hex_character(&mut self) -> Result<char, String> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.next()?;
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(unexpected(byte, "in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
        }
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::List);
        }
        loop {
            self.value(depth + 1)?;
            self.skip_space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(Json::List),
                byte => return Err(unexpected(byte, "after array element")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut entries = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Map(entries));
        }
        loop {
            self.skip_space();
            let byte = self.next()?;
            if byte != b'"' {
                return Err(unexpected(byte, "looking for beginning of object key string"));
            }
            let key = self.text()?;
            self.skip_space();
            let byte = self.next()?;
            if byte != b':' {
                return Err(unexpected(byte, "after object key"));
            }
            let value = self.value(depth + 1)?;
            entries.push((key, value));
            self.skip_space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(Json::Map(entries)),
                byte => return Err(unexpected(byte, "after object key:value pair")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_read_as_in_go() {
        let fault = |text: &str| parse(text).unwrap_err();
        assert_eq!(fault(""), "unexpected end of JSON input");
        assert_eq!(fault("{\"a\""), "unexpected end of JSON input");
        assert_eq!(fault("abc"), "invalid character 'a' looking for beginning of value");
        assert_eq!(fault("{a"), "invalid character 'a' looking for beginning of object key string");
        assert_eq!(fault("{\"a\" 1"), "invalid character '1' after object key");
        assert_eq!(fault("{} x"), "invalid character 'x' after top-level value");
        assert_eq!(fault("'{}'"), "invalid character '\\'' looking for beginning of value");
        assert_eq!(fault("{\"a\":1 \"b\""), "invalid character '\"' after object key:value pair");
        assert_eq!(fault("tru{"), "invalid character '{' in literal true (expecting 'e')");
        assert_eq!(fault("\"a\n\""), "invalid character '\\n' in string literal");
        assert_eq!(fault(&"[".repeat(100_000)), "exceeded max depth");
    }

    #[test]
    fn keys_are_kept() {
        let Json::Map(entries) = parse(r#"{"a\u0062": {"auth": ""}, "b": [1, -2e3]}"#).unwrap()
        else {
            panic!("an object");
        };
        assert_eq!(entries[0].0, "ab");
        assert_eq!(entries[1].1.word(), "array");
    }
}
