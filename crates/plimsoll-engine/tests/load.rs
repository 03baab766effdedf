//! A slip of the pen in a pack is an error with its place, never a rule that is silently unknown.

use plimsoll_engine::{Pack, PackFile};

const RULES: &str = "id: a
title: A
signatures:
- id: line
  on: Node
  logs: [unit/kubelet]
  contains: [certificate has expired]
  pattern: 'expired on (?P<day>\\w+)'
states:
- id: a
  on: Node
  summary: 'On {name}: {ready.message|logs.line.day}'
  when: self.logs['line'].count > 0
  since: self.logs['line'].since
  recovered: self.logs['line'].recent == 0
  proven: self.logs['line'].open > 0
  applies: {versions: 4.12..4.18}
  recovery:
  - verdict: recoverable
    repair: r
    summary: 'Mend {name}.'
    blast: 5
- id: b
  on: Node
  summary: s
  when: self.ready.status == 'False'
causes:
- from: a
  to: b
  via: same
  likelihood: usually
  delay: {min: 0s, max: 5m}
  guard: cause.logs['line'].day == 'Friday'
  because: 'It does, %{http_code} or not.'
  source: y
checks:
- for: a
  how: 'ssh {name} ''crictl ps -o go-template={.id}'''
  cost: low
breakers:
- state: a
  action: 'restart {name}'
";

fn load(rules: &str) -> Result<Pack, Vec<String>> {
    let file = PackFile { path: "p/a/case.yaml".into(), text: rules.into() };
    Pack::load(&[file]).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn what_is_written_right_loads() {
    let pack = load(RULES).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!((pack.states.len(), pack.causes.len()), (2, 1));
    for versions in ["4.19..", "..4.18", "4.16..4.16"] {
        assert!(load(&RULES.replace("4.12..4.18", versions)).is_ok(), "{versions}");
    }
}

/// Each slip alone is refused, at the line where it stands.
#[test]
fn a_slip_is_refused_where_it_stands() {
    let field = "a hit of 'line' has no 'cuont'; it has count, open, since, first, last, until, \
                 recent, text, day";
    let range = "'versions' must look like 4.12..4.18, 4.19.. or ..4.18";
    let slips = [
        ("when: self.logs['line'].count", "when: self.logs['lien'].count", "no signature 'lien'"),
        ("since: self.logs['line']", "since: self.logs['lien']", "no signature 'lien'"),
        ("recovered: self.logs['line']", "recovered: self.logs['lien']", "no signature 'lien'"),
        ("proven: self.logs['line']", "proven: self.logs['lien']", "no signature 'lien'"),
        ("guard: cause.logs['line']", "guard: cause.logs['lien']", "no signature 'lien'"),
        ("when: self.logs['line'].count", "when: self.logs['line'].cuont", field),
        ("logs.line.day}", "logs.line.cuont}", field),
        ("4.12..4.18", "4.12..4.x", range),
        ("4.12..4.18", "4.x..", range),
        ("4.12..4.18", "4.18..4.12", range),
        ("4.12..4.18", "..", range),
        ("min: 0s", "mim: 0s", "unknown key 'mim'; known here: min, max"),
        ("min: 0s", "min: soon", "'min' must look like 90s, 15m, 2h or 3d"),
        ("{min: 0s, max: 5m}", "5m", "expected a mapping, found text"),
        ("blast: 5", "blast: 99", "'blast' is a level from 0 to 5"),
        ("title: A", "repairs: [r]", "unknown key 'repairs'"),
        ("On {name}", "On {nmae}", "Node has no fact 'nmae'"),
        ("{ready.message|", "{raedy.message|", "Node has no fact 'raedy.message'"),
        ("Mend {name}", "Mend {nmae}", "Node has no fact 'nmae'"),
        ("ssh {name}", "ssh {nmae}", "Node has no fact 'nmae'"),
        ("restart {name}", "restart {nmae}", "Node has no fact 'nmae'"),
        ("because: 'It", "because: '{name}", "nothing is filled in for '{name}' here"),
    ];
    for (right, wrong, message) in slips {
        assert!(RULES.contains(right), "{right}");
        let text = RULES.replacen(right, wrong, 1);
        let line = 1 + text.lines().position(|line| line.contains(wrong)).unwrap_or_default();
        let errors = load(&text).err().unwrap_or_else(|| panic!("'{wrong}' loads"));
        let told = errors.iter().any(|error| {
            error.starts_with(&format!("p/a/case.yaml:{line}:")) && error.contains(message)
        });
        assert!(told, "'{wrong}' in line {line}: {errors:?}");
    }
}

/// What breaks a rule is asked for: no recovery proposes it, and it says for how long and for what.
#[test]
fn a_break_glass_is_never_proposed() {
    let repair = |keys: &str| {
        let text = format!(
            "repairs:\n- id: r\n  title: R\n{keys}  steps: [{{wait: w}}]\n  escalate: e\n  source: s\n"
        );
        let file = |path: &str, text: &str| PackFile { path: path.into(), text: text.into() };
        Pack::load(&[file("p/a/case.yaml", RULES), file("p/a/repair.yaml", &text)])
            .map(|pack| pack.repairs.len())
            .map_err(|errors| errors.into_iter().map(|one| one.message).collect::<Vec<_>>())
    };
    assert_eq!(repair(""), Ok(1));
    let refused = |keys: &str| repair(keys).unwrap_err();
    assert_eq!(refused("  break-glass: 30\n  for: [a]\n").len(), 1, "a recovery names it");
    assert!(refused("  break-glass: 30\n")[0].contains("says in 'for'"));
    let long = refused("  break-glass: 600\n  for: [a]\n");
    assert!(long.iter().any(|why| why == "'break-glass' is 1 to 60 minutes"), "{long:?}");
    assert!(refused("  for: [nonsense]\n").iter().any(|why| why == "no state 'nonsense'"));
}
