//! Placeholders of a fault, filled in for one cluster, one machine and one onset.

use jiff::{SignedDuration, Timestamp};
use plimsoll_model::diagnosis::StateRef;

use super::{Break, Fault, FaultError, Pick};
use crate::base::BaseParams;
use crate::edit::{Edit, duration, parse_edits};

/// What the placeholders of a fault stand for.
#[derive(Clone, Debug)]
pub struct Bindings<'p> {
    pub params: &'p BaseParams,
    /// The picked machine; empty when the fault picks none.
    pub node: String,
    pub onset: Timestamp,
}

/// A fault of one cluster.
#[derive(Clone, Debug)]
pub struct Bound {
    pub id: String,
    pub roots: Vec<StateRef>,
    pub breaks: Vec<Break>,
    pub cancels: Vec<String>,
    pub edits: Vec<Edit>,
    pub onset: Timestamp,
}

impl Fault {
    pub fn bind(&self, bindings: &Bindings<'_>) -> Result<Bound, FaultError> {
        let error =
            |line: u32, message: String| FaultError { path: self.path.clone(), line, message };
        let fill = |line: u32, text: &str| {
            let filled = bindings.fill(text, self.pick).map_err(|message| error(line, message))?;
            filled.ok_or_else(|| error(line, "a time after the gather".into()))
        };
        let mut roots = Vec::new();
        for (id, entity) in &self.roots {
            let entity = fill(1, entity)?;
            let entity = entity.parse().map_err(|_| error(1, format!("root '{entity}'")))?;
            roots.push(StateRef { id: id.clone(), entity });
        }
        let mut breaks = Vec::new();
        for found in &self.breaks {
            let arguments: Result<Vec<String>, FaultError> =
                found.arguments.iter().map(|text| fill(found.line, text)).collect();
            breaks.push(Break { arguments: arguments?, ..found.clone() });
        }
        Ok(Bound {
            id: self.id.clone(),
            roots,
            breaks,
            cancels: self.cancels.clone(),
            edits: self.edits(bindings)?,
            onset: bindings.onset,
        })
    }

    /// Edits that lie after the gather have not happened, and are left out.
    fn edits(&self, bindings: &Bindings<'_>) -> Result<Vec<Edit>, FaultError> {
        let (first, text) = &self.edits;
        let error =
            |line: u32, message: String| FaultError { path: self.path.clone(), line, message };
        let mut edits = Vec::new();
        let mut chunk = String::new();
        let mut start = *first;
        let mut lines = (*first..).zip(text.lines()).peekable();
        while let Some((line, content)) = lines.next() {
            if chunk.is_empty() {
                start = line;
            }
            chunk.push_str(content);
            chunk.push('\n');
            if lines.peek().is_some_and(|(_, next)| next.starts_with([' ', '\t'])) {
                continue;
            }
            let filled = bindings
                .fill(&std::mem::take(&mut chunk), self.pick)
                .map_err(|message| error(start, message))?;
            let Some(filled) = filled else { continue };
            let parsed = parse_edits(&filled, start);
            edits.extend(parsed.map_err(|wrong| error(wrong.line, wrong.message))?);
        }
        Ok(edits)
    }
}

impl Bindings<'_> {
    /// None when the text speaks of a time after the gather.
    fn fill(&self, text: &str, pick: Pick) -> Result<Option<String>, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let Some(name) = placeholder(rest) else {
                out.push('{');
                rest = &rest[1..];
                continue;
            };
            match self.value(name, pick)? {
                Some(value) => out.push_str(&value),
                None => return Ok(None),
            }
            rest = &rest[name.len() + 2..];
        }
        out.push_str(rest);
        Ok(Some(out))
    }

    fn value(&self, name: &str, pick: Pick) -> Result<Option<String>, String> {
        let params = self.params;
        if let Some(offset) = time_offset(name, "t")? {
            return Ok(self.moment(offset).map(|at| relative(at, params.now)));
        }
        if let Some(offset) = time_offset(name, "at")? {
            return Ok(self.moment(offset).map(|at| at.to_string()));
        }
        let of_node = |value: String| match pick {
            Pick::None => Err(format!("{{{name}}} needs a pick:")),
            _ => Ok(Some(value)),
        };
        let node = self.node.as_str();
        let other = || {
            let found = params.masters.iter().find(|master| *master != node);
            found.cloned().unwrap_or_else(|| node.to_string())
        };
        if let Some(daemon_set) = name.strip_prefix("pod-of-") {
            return of_node(crate::base::daemon_pod(daemon_set, node));
        }
        Ok(Some(match name {
            "node" | "host" => return of_node(node.into()),
            "ip" => return of_node(params.ip(node).into()),
            "pool" => {
                let pool = if params.is_master(node) { "master" } else { "worker" };
                return of_node(pool.into());
            }
            "machine" => return of_node(crate::base::machine_name(params, node)),
            "other-master" => other(),
            "etcd" => return of_node(etcd_url(params.ip(node))),
            "other-etcd" => etcd_url(params.ip(&other())),
            "bootstrap-etcd" => etcd_url(&params.bootstrap_ip()),
            "cluster" => params.cluster.clone(),
            "domain" => params.domain.clone(),
            "fqdn" => params.fqdn(),
            "api-int" => format!("api-int.{}", params.fqdn()),
            "api-vip" => params.api_vip.clone(),
            "ingress-vip" => params.ingress_vip.clone(),
            "version" => params.version.clone(),
            "machine-network" => params.machine_network.clone(),
            _ => return Err(format!("{{{name}}} is no placeholder")),
        }))
    }

    fn moment(&self, offset: SignedDuration) -> Option<Timestamp> {
        let at = self.onset.checked_add(offset).ok()?;
        (at <= self.params.now).then_some(at)
    }
}

fn etcd_url(ip: &str) -> String {
    format!("https://{}:2379", crate::base::bracketed(ip))
}

/// The name at the start of `{name}…`. Braces of flow values and of quoted code are none.
fn placeholder(text: &str) -> Option<&str> {
    let end = text.find('}')?;
    let name = &text[1..end];
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-+".contains(c);
    (name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(fits)).then_some(name)
}

/// `t`, `t+10m`, `t-5m`.
fn time_offset(name: &str, head: &str) -> Result<Option<SignedDuration>, String> {
    let Some(rest) = name.strip_prefix(head) else { return Ok(None) };
    match rest.split_at_checked(1) {
        None => Ok(Some(SignedDuration::ZERO)),
        Some(("+", offset)) => duration(offset).map(Some),
        Some(("-", offset)) if offset.starts_with(|c: char| c.is_ascii_digit()) => {
            duration(offset).map(|offset| Some(-offset))
        }
        _ => Ok(None),
    }
}

/// `-3h12m5s` before the gather.
fn relative(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    let parts = [(seconds / 3_600, 'h'), (seconds % 3_600 / 60, 'm'), (seconds % 60, 's')];
    let text: String =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "-0s".into() } else { format!("-{text}") }
}

#[cfg(test)]
mod tests {
    use super::super::parse_faults;
    use super::*;
    use crate::edit::Verb;

    fn bound(edits: &str, minutes_ago: i64) -> Result<Bound, FaultError> {
        let text = format!(
            "# fault: x\n```fault\nroot: x Node/{{node}}\npick: master\nbreaks:\n- config-stuck {{node}} \"at {{ip}}\"\n```\n```edits\n{edits}\n```\n"
        );
        let params = BaseParams::default();
        let onset = params.now - SignedDuration::from_mins(minutes_ago);
        let bindings = Bindings { params: &params, node: "master-1".into(), onset };
        parse_faults("f.md", &text).unwrap()[0].bind(&bindings)
    }

    #[test]
    fn placeholders_stand_for_the_machine_and_the_time() {
        let found = bound(
            "journal kubelet {node} from={t} to={t+10m} \"{host} {pool} {other-master} {api-int} {phase: x} {at-1h}\"",
            192,
        )
        .unwrap();
        assert_eq!(found.roots[0].entity.to_string(), "Node/master-1");
        assert_eq!(found.breaks[0].arguments, ["master-1", "at 192.168.111.21"]);
        let Verb::Journal { node, lines, .. } = &found.edits[0].verb else { panic!() };
        assert_eq!(node, "master-1");
        assert_eq!(
            lines.text,
            "master-1 master master-0 api-int.ostest.lab.example {phase: x} 2025-12-03T14:30:00Z"
        );
        let now = BaseParams::default().now;
        assert_eq!(now.duration_since(lines.from.resolve(now)).as_secs(), 192 * 60);
    }

    #[test]
    fn what_lies_after_the_gather_has_not_happened() {
        let found = bound(
            "set Node/{node} spec.x = 1\nset Node/{node} metadata.y = @{t+30m}\ncreate\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, namespace: b, t: \"{at+25m}\"}",
            20,
        );
        assert_eq!(found.unwrap().edits.len(), 1);
    }

    #[test]
    fn an_unknown_placeholder_is_an_error_with_its_line() {
        let error = bound("delete Node/{node}\ndelete Node/{knot}", 60).unwrap_err();
        assert_eq!(error.to_string(), "f.md:10: {knot} is no placeholder");
    }
}
