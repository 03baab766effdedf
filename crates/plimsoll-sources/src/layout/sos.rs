//! The layout of a sosreport: what commands said, below `sos_commands`, beside files of the machine.
//!
//! Files of the machine itself (`etc/`, `var/`) are known by `machine`.

use plimsoll_model::LogOrigin;

use super::{Found, Inside, Kind, Layout};

pub fn find(parts: &[&str]) -> Option<Found> {
    // The times of the commands stand beside them too, as links or as files.
    if let [.., folder, "date"] = parts
        && let Some(name) = host_of(folder)
    {
        let machine = Inside { below: 1, name: Some(name), whole: None };
        return Some(Found {
            kind: Kind::Timestamp,
            layout: Layout::Sosreport,
            machine: Some(machine),
        });
    }
    // What was too long stands in `sos_strings`, and its end is kept.
    let at = parts.iter().position(|part| matches!(*part, "sos_commands" | "sos_strings"))?;
    let name = at.checked_sub(1).and_then(|above| host_of(parts[above]));
    let machine = Inside { below: parts.len() - at, name, whole: None };
    let kind = match &parts[at + 1..] {
        ["host", "hostname"] => Kind::HostName,
        ["date", "date" | "date_--utc"] => Kind::Timestamp,
        ["kernel", file] if file.starts_with("dmesg") => {
            let name = machine.name.clone().unwrap_or_default();
            Kind::Log(LogOrigin::Console { name })
        }
        [_, file] => journal(file).unwrap_or(Kind::Other),
        _ => Kind::Other,
    };
    Some(Found { kind, layout: Layout::Sosreport, machine: Some(machine) })
}

/// `journalctl_--no-pager_--boot`, `journalctl_--no-pager_--unit_kubelet`
fn journal(file: &str) -> Option<Kind> {
    let options = file.strip_suffix(".tailed").unwrap_or(file);
    let options = options.strip_prefix("journalctl_")?;
    if ["--disk-usage", "--output", "--list", "--header"].iter().any(|o| options.contains(o)) {
        return None;
    }
    let mut units = options.split("--unit_").skip(1);
    match (units.next(), units.next()) {
        (Some(unit), None) => {
            let unit = unit.split("_--").next().unwrap_or(unit);
            let unit = unit.strip_suffix(".service").unwrap_or(unit);
            Some(Kind::Log(LogOrigin::Unit { unit: unit.into(), node: None }))
        }
        _ => Some(Kind::Journal),
    }
}

/// `master-0` of `sosreport-master-0-01234567-2025-12-03-abcdefg`: what comes before the date, less
/// the case number that may be there.
pub fn host_of(folder: &str) -> Option<String> {
    let rest = folder.strip_prefix("sosreport-")?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = rest.split('-').collect();
    let date = (1..parts.len()).find(|at| {
        let length =
            |offset: usize| parts.get(at + offset).filter(|p| is_number(p)).map(|p| p.len());
        length(0) == Some(4) && length(1) == Some(2) && length(2) == Some(2)
    })?;
    let case = date > 1 && parts[date - 1].len() >= 6 && is_number(parts[date - 1]);
    Some(parts[..date - usize::from(case)].join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_stands_between_the_name_and_the_date() {
        for (folder, host) in [
            ("sosreport-master-0-2025-12-03-abcdefg", Some("master-0")),
            ("sosreport-m.example.com-01234567-2025-12-03-abcdefg", Some("m.example.com")),
            ("sosreport-node-2025-2025-12-03-abcdefg", Some("node-2025")),
            ("sosreport-master-0", None),
            ("something", None),
        ] {
            assert_eq!(host_of(folder).as_deref(), host, "{folder}");
        }
    }

    #[test]
    fn the_date_is_told_twice() {
        for path in ["sos_commands/date/date", "date"] {
            let path = format!("x/sosreport-master-0-2025-12-03-abcdefg/{path}");
            let parts: Vec<&str> = path.split('/').collect();
            assert_eq!(find(&parts).map(|found| found.kind), Some(Kind::Timestamp), "{path}");
        }
        assert!(find(&["etc", "date"]).is_none());
    }

    #[test]
    fn journals_are_known_by_the_command_that_wrote_them() {
        let unit = |unit: &str| Some(Kind::Log(LogOrigin::Unit { unit: unit.into(), node: None }));
        for (file, kind) in [
            ("journalctl_--no-pager", Some(Kind::Journal)),
            ("journalctl_--no-pager_--boot_-1", Some(Kind::Journal)),
            ("journalctl_--no-pager.tailed", Some(Kind::Journal)),
            ("journalctl_--no-pager_--unit_kubelet", unit("kubelet")),
            ("journalctl_--no-pager_--unit_crio.service_--boot", unit("crio")),
            ("journalctl_--no-pager_--unit_a_--unit_b", Some(Kind::Journal)),
            ("journalctl_--disk-usage", None),
            ("journalctl_--no-pager_--output_verbose", None),
            ("systemctl_list-units", None),
        ] {
            assert_eq!(journal(file), kind, "{file}");
        }
    }
}
