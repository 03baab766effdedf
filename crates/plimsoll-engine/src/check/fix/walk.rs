//! One walk over a file with the installer's types beside it; each place gives at most one fix.

use plimsoll_install::{Expected, File, Network, Release, Scalar};
use plimsoll_yaml::{Key, Kind, Node};

use super::source::{Edit, Source, Style};
use super::{Fix, values};

pub fn fixes(text: &str, file: File, release: Release) -> Vec<Fix> {
    let Some(root) = plimsoll_install::written(text) else { return Vec::new() };
    let mut walk = Walk { source: Source::new(text), file, release, fixes: Vec::new() };
    walk.node(&root, Expected::of(file), "");
    walk.fixes.sort_by_key(|fix| fix.line);
    walk.fixes
}

struct Walk<'t> {
    source: Source<'t>,
    file: File,
    release: Release,
    fixes: Vec<Fix>,
}

/// A key of a mapping, and what it is taken for.
struct Entry<'n> {
    key: &'n Key,
    value: &'n Node,
    field: Option<(&'static str, Expected)>,
    /// It is no key of the installer, but one is a slip of the finger away.
    slipped: bool,
}

impl Walk<'_> {
    /// `path` has the true names of the fields and no indices.
    fn node(&mut self, node: &Node, expected: Expected, path: &str) {
        match &node.kind {
            Kind::Map(entries) if expected.is_mapping() => self.mapping(entries, expected, path),
            Kind::List(items) => {
                if let Some(expected) = expected.item() {
                    items.iter().for_each(|item| self.node(item, expected, path));
                }
            }
            Kind::Text(value) => self.scalar(node, value, expected, path),
            _ => {}
        }
    }

    fn mapping(&mut self, entries: &[(Key, Node)], expected: Expected, path: &str) {
        let entries = self.resolved(entries, expected);
        let has = |name: &str| entries.iter().any(|e| e.field.is_some_and(|(n, _)| n == name));
        match (self.file, path) {
            (_, "") if !has("apiVersion") => self.missing_version(&entries),
            (File::Install, "networking.clusterNetwork")
                if !has("hostPrefix") && !has("hostSubnetLength") =>
            {
                self.missing_host_prefix(&entries);
            }
            _ => {}
        }
        for entry in &entries {
            let Some((name, expected)) = entry.field else { continue };
            let below = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            let alone = entries
                .iter()
                .filter(|other| other.field.is_some_and(|(other, _)| other == name))
                .count()
                == 1;
            match below.as_str() {
                "platform.baremetal.apiVIP" if alone && !has("apiVIPs") => {
                    self.list_of_vips(entry, "apiVIPs");
                }
                "platform.baremetal.ingressVIP" if alone && !has("ingressVIPs") => {
                    self.list_of_vips(entry, "ingressVIPs");
                }
                "imageContentSources" if alone && !has("imageDigestSources") => {
                    let id = "image-content-sources-deprecated";
                    self.rename(id, entry.key, "imageDigestSources");
                }
                _ if entry.slipped => self.rename("unknown-key", entry.key, name),
                _ if name != entry.key.name && alone => {
                    self.rename("key-in-other-case", entry.key, name);
                }
                _ => {}
            }
            match below.as_str() {
                "additionalTrustBundle" => self.trust_bundle(entry),
                "platform.baremetal.hosts.networkConfig" | "hosts.networkConfig" => {
                    self.network_config(entry.value);
                }
                _ => self.node(entry.value, expected, &below),
            }
        }
    }

    fn resolved<'n>(&self, entries: &'n [(Key, Node)], expected: Expected) -> Vec<Entry<'n>> {
        // What a merge brought stands elsewhere.
        let written = entries.iter().filter(|(key, _)| key.line != 0);
        let mut entries: Vec<Entry<'n>> = written
            .map(|(key, value)| Entry {
                key,
                value,
                field: expected.field(&key.name, self.release),
                slipped: false,
            })
            .collect();
        let taken: Vec<&str> =
            entries.iter().filter_map(|e| e.field).map(|(name, _)| name).collect();
        let free: Vec<&str> =
            expected.keys(self.release).into_iter().filter(|key| !taken.contains(key)).collect();
        let mut meant: Vec<Option<&str>> = entries
            .iter()
            .map(|entry| match entry.field {
                None => values::meant_key(&entry.key.name, &free),
                Some(_) => None,
            })
            .collect();
        for at in 0..entries.len() {
            // Two keys that would become one are left alone.
            let Some(name) = meant[at].take() else { continue };
            if meant.contains(&Some(name))
                || entries.iter().any(|e| e.field.is_some_and(|f| f.0 == name))
            {
                continue;
            }
            let field = expected.field(name, self.release);
            entries[at].field = field.filter(|(_, expected)| takes(*expected, entries[at].value));
            entries[at].slipped = entries[at].field.is_some();
        }
        entries
    }

    fn scalar(&mut self, node: &Node, value: &str, expected: Expected, path: &str) {
        let Some(kind) = expected.scalar() else { return };
        match (self.file, kind) {
            (_, Scalar::Integer) if value.parse::<i64>().is_ok_and(|n| n.to_string() == value) => {
                self.unquote("value-of-wrong-type", node, value);
            }
            (_, Scalar::Bool) if matches!(value, "true" | "false") => {
                self.unquote("value-of-wrong-type", node, value);
            }
            (_, Scalar::Network) => {
                if let Some(network) = values::aligned(value) {
                    self.replace(values::alignment_rule(path), node, value, &network);
                }
            }
            (_, Scalar::Text) => self.text(node, value, path),
            _ => {}
        }
    }

    /// The version that the file should have.
    fn version(&self) -> &'static str {
        match self.file {
            File::Install => "v1",
            File::Agent => "v1beta1",
        }
    }

    fn text(&mut self, node: &Node, value: &str, path: &str) {
        if let Some((id, word)) = values::word(path, value, self.release) {
            return self.replace(id, node, value, word);
        }
        match (self.file, path) {
            (File::Install, "apiVersion") if value != "v1" => {
                let taken = matches!(value, "v1beta3" | "v1beta4");
                let id = if taken { "api-version-old" } else { "api-version-unknown" };
                self.replace(id, node, value, self.version());
            }
            (File::Agent, "apiVersion") if !matches!(value, "v1beta1" | "v1alpha1") => {
                self.replace("api-version-unknown", node, value, self.version());
            }
            (File::Install, "proxy.noProxy") => {
                if let Some(list) = values::no_proxy(value) {
                    self.replace("no-proxy-has-spaces", node, value, &list);
                }
            }
            (
                File::Install,
                "platform.baremetal.hosts.bootMACAddress"
                | "platform.baremetal.externalMACAddress"
                | "platform.baremetal.provisioningMACAddress",
            )
            | (File::Agent, "hosts.interfaces.macAddress") => self.mac(node),
            _ => {}
        }
    }

    fn mac(&mut self, node: &Node) {
        if let Some(value) = node.as_text()
            && let Some(mac) = values::mac(value)
        {
            self.replace("mac-in-other-form", node, value, &mac);
        }
    }

    /// nmstate's own YAML, of which the installer knows little.
    fn network_config(&mut self, config: &Node) {
        for interface in config.get("interfaces").map(Node::items).unwrap_or_default() {
            if let Some(mac) = interface.get("mac-address") {
                self.mac(mac);
            }
            if let Some(mtu) = interface.get("mtu")
                && let Some(value) = mtu.as_text()
                && value.parse::<u32>().is_ok_and(|n| n.to_string() == value)
            {
                self.unquote("interface-mtu-not-a-number", mtu, value);
            }
        }
    }

    fn list_of_vips(&mut self, entry: &Entry<'_>, list: &str) {
        let (key, value) = (entry.key, entry.value);
        let Some(address) = value.as_text().filter(|_| key.line == value.line) else { return };
        let source = &self.source;
        let Some((from, _)) = source.token(key.line, key.column, &key.name) else { return };
        let Some((at, _)) = source.token(value.line, value.column, address) else { return };
        let Some(before) = source.before(key.line, key.column) else { return };
        let written = &source.text[at.clone()];
        let with = match before.trim().is_empty() {
            true => format!("{list}:{}{before}- {written}", source.newline),
            false => format!("{list}: [{written}]"),
        };
        let what = format!("{} becomes the list {list}", key.name);
        self.push(
            "vip-field-deprecated",
            key.line,
            what,
            vec![Edit { at: from.start..at.end, with }],
        );
    }

    fn missing_version(&mut self, entries: &[Entry<'_>]) {
        let Some(first) = entries.first().filter(|entry| entry.key.column == 1) else { return };
        let flow = self.source.line(first.key.line).is_none_or(|line| line.starts_with(['{', '"']));
        let Some(start) = self.source.offset(first.key.line, 1).filter(|_| !flow) else { return };
        let line = format!("apiVersion: {}", self.version());
        let edit = Edit { at: start..start, with: format!("{line}{}", self.source.newline) };
        let what = format!("{line} is added");
        self.push("api-version-missing", first.key.line, what, vec![edit]);
    }

    fn missing_host_prefix(&mut self, entries: &[Entry<'_>]) {
        let cidr = entries.iter().find(|entry| entry.field.is_some_and(|(name, _)| name == "cidr"));
        let Some((cidr, value)) = cidr.and_then(|e| Some((e, e.value.as_text()?))) else { return };
        let Some(network) = Network::parse(value) else { return };
        let prefix: u8 = if network.is_ipv4() { 23 } else { 64 };
        if network.prefix() > prefix {
            return;
        }
        let (key, source) = (cidr.key, &self.source);
        let Some((at, _)) = source.token(cidr.value.line, cidr.value.column, value) else { return };
        let Some(before) = source.before(key.line, key.column) else { return };
        let edit = if before.contains(['{', '"']) {
            Edit { at: at.end..at.end, with: format!(", hostPrefix: {prefix}") }
        } else {
            let Some(start) = source.line_start(cidr.value.line) else { return };
            let end = start + source.line(cidr.value.line).map_or(0, str::len);
            let indent = " ".repeat(before.chars().count());
            let with = format!("{}{indent}hostPrefix: {prefix}", source.newline);
            Edit { at: end..end, with }
        };
        let what = format!("hostPrefix: {prefix} is added");
        self.push("host-prefix-too-small", key.line, what, vec![edit]);
    }

    /// Empty lines behind the last certificate, which the installer reads as a broken block.
    fn trust_bundle(&mut self, entry: &Entry<'_>) {
        let node = entry.value;
        let Some(value) = node.as_text() else { return };
        let Some((_, tail)) = value.rsplit_once("-----END ") else { return };
        let Some((_, tail)) = tail.split_once('\n') else { return };
        let (key, source) = (entry.key, &self.source);
        let Some((token, _)) = source.token(key.line, key.column, &key.name) else { return };
        // Where the block begins: the value itself may stand on the line below.
        let colon = source.text[token.end..].find(':').unwrap_or_default();
        let gap =
            source.text[token.end + colon..].chars().skip(1).take_while(|c| *c == ' ').count();
        let header = token.end + colon + 1 + gap;
        let Some(rest) = source.text.get(header..) else { return };
        let block = rest.starts_with(['|', '>']);
        if tail.is_empty() || !tail.trim().is_empty() || !block {
            return;
        }
        let mut edits = Vec::new();
        let indicators = rest.split([' ', '#', '\r', '\n']).next().unwrap_or_default();
        if let Some(plus) = indicators.find('+') {
            edits.push(Edit { at: header + plus..header + plus + 1, with: String::new() });
        }
        let deep = |line: &str| line.len() - line.trim_start().len() >= key.column as usize;
        let lines = (key.line + 1..).map_while(|number| Some((number, source.line(number)?)));
        let own = lines.take_while(|(_, line)| line.trim().is_empty() || deep(line));
        let own: Vec<(u32, &str)> = own.collect();
        for (number, line) in own.iter().rev().take_while(|(_, line)| line.trim().is_empty()) {
            if let Some(start) = source.line_start(*number).filter(|_| !line.is_empty()) {
                edits.push(Edit { at: start..start + line.len(), with: String::new() });
            }
        }
        if !edits.is_empty() {
            let what = "empty lines behind the last certificate are dropped".into();
            self.push("trust-bundle-unreadable", key.line, what, edits);
        }
    }

    fn rename(&mut self, id: &'static str, key: &Key, name: &str) {
        let Some((at, style)) = self.source.token(key.line, key.column, &key.name) else { return };
        let at = if style == Style::Quoted { at.start + 1..at.end - 1 } else { at };
        let what = format!("{} becomes {name}", key.name);
        self.push(id, key.line, what, vec![Edit { at, with: name.into() }]);
    }

    fn replace(&mut self, id: &'static str, node: &Node, value: &str, with: &str) {
        let Some((at, style)) = self.source.token(node.line, node.column, value) else { return };
        let at = if style == Style::Quoted { at.start + 1..at.end - 1 } else { at };
        let what = format!("{value} becomes {with}");
        self.push(id, node.line, what, vec![Edit { at, with: with.into() }]);
    }

    fn unquote(&mut self, id: &'static str, node: &Node, value: &str) {
        if let Some((at, Style::Quoted)) = self.source.token(node.line, node.column, value) {
            let what = format!("{value} loses its quotes");
            self.push(id, node.line, what, vec![Edit { at, with: value.into() }]);
        }
    }

    fn push(&mut self, id: &'static str, line: u32, what: String, edits: Vec<Edit>) {
        let fix = Fix { id, file: self.file, line, what, edits };
        // An alias shows one place twice.
        if !self.fixes.iter().rev().take(64).any(|other| other.edits == fix.edits) {
            self.fixes.push(fix);
        }
    }
}

fn takes(expected: Expected, node: &Node) -> bool {
    expected.is_anything()
        || match node.kind {
            Kind::Null => true,
            Kind::Map(_) => expected.is_mapping(),
            Kind::List(_) => expected.item().is_some(),
            _ => expected.scalar().is_some(),
        }
}
