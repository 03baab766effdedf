//! Control plane, compute and arbiter.

use std::collections::HashSet;

use crate::check::{Context, Crash, features};
use crate::config::{Disk, Pool};
use crate::go::text::quote;
use crate::refusal::{Bad, Collector, ErrorType, Finding};
use crate::release::Release;

pub(crate) fn check(context: &mut Context<'_>) -> Result<(), Crash> {
    let config = context.config;
    let control = &config.control_plane;
    if control.replicas.value == 0 {
        let text = "number of control plane replicas must be positive";
        let path = "controlPlane.replicas";
        context.out.invalid(
            "control-plane-empty",
            path,
            control.replicas.place,
            Bad::plain(0),
            text,
        );
    }
    check_pool(control, "controlPlane", context);
    if context.release >= Release::V4_19 {
        check_fencing(context)?;
        check_arbiter(context)?;
    }
    features::crash_of_unknown_set(context)?;
    check_compute(context);
    check_architectures(context);
    Ok(())
}

fn check_pool(pool: &Pool, path: &str, context: &mut Context<'_>) {
    let replicas = &pool.replicas;
    if replicas.value < 0 {
        let path = format!("{path}.replicas");
        let text = "number of replicas must not be negative";
        let bad = Bad::plain(replicas.value);
        context.out.invalid("replicas-negative", path, replicas.place, bad, text);
    }
    let threads = &pool.hyperthreading;
    if !matches!(threads.as_str(), "Enabled" | "Disabled") {
        context.out.not_supported(
            "hyperthreading-unknown",
            format!("{path}.hyperthreading"),
            threads.place,
            Bad::text(threads.as_str()),
            // Go lists these in any order.
            &["Disabled", "Enabled"],
        );
    }
    let architecture = &pool.architecture;
    if !matches!(architecture.as_str(), "amd64" | "s390x" | "ppc64le" | "arm64") {
        context.out.not_supported(
            "architecture-unknown",
            format!("{path}.architecture"),
            architecture.place,
            Bad::text(architecture.as_str()),
            &["amd64", "arm64", "ppc64le", "s390x"],
        );
    }
    check_disks(pool, path, context.out);
    let active = context.config.platform.name();
    for (name, place) in &pool.platforms {
        // The installer forgot two of them.
        if *name != active && !matches!(*name, "nutanix" | "alibabacloud") {
            let text = format!(
                "cannot specify {} for machine pool when cluster is using {}",
                quote(name),
                quote(active)
            );
            let path = format!("{path}.platform.{name}");
            let bad = Bad::plain(format!("{name}.MachinePool{{}}"));
            context.out.invalid("pool-for-other-platform", path, *place, bad, text);
        }
    }
}

fn check_disks(pool: &Pool, path: &str, out: &mut Collector) {
    let path = format!("{path}.diskSetup");
    let mut seen = HashSet::new();
    for disk in &pool.disks {
        let shown = yaml_of(disk);
        let mut refuse = |rule: &'static str, below: &str, text: &str| {
            let path = format!("{path}.{below}");
            out.invalid(rule, path, disk.place, Bad::text(&shown), text);
        };
        let kind = disk.kind.as_str();
        let details = match kind {
            "etcd" => &disk.etcd,
            "swap" => &disk.swap,
            "user-defined" => &disk.user_defined,
            _ => continue,
        };
        if kind != "user-defined" && seen.contains(kind) {
            out.refuse(Finding {
                rule: "disk-doubled",
                path: format!("{path}.{kind}"),
                place: disk.place,
                kind: ErrorType::TooMany,
                bad: Bad::plain(2),
                detail: "must have at most 1 items".into(),
            });
            continue;
        }
        let below = if kind == "user-defined" { "userDefined" } else { kind };
        match details {
            None => {
                let text = format!("{below} configuration must be created");
                refuse("disk-without-configuration", below, &text);
                continue;
            }
            Some(id) if kind == "user-defined" && id.value.len() > 12 => {
                let text = "cannot be longer than 12 characters";
                refuse("disk-id-too-long", "userDefined.platformDiskId", text);
            }
            Some(_) if kind == "etcd" && pool.name.value != "master" => {
                refuse(
                    "disk-etcd-on-worker",
                    "etcd",
                    "cannot specify etcd on worker machine pools",
                );
                continue;
            }
            Some(_) => {}
        }
        seen.insert(kind);
    }
}

/// As the installer prints a disk: keys in the order of the alphabet.
fn yaml_of(disk: &Disk) -> String {
    let mut out = String::new();
    for (name, details) in
        [("etcd", &disk.etcd), ("swap", &disk.swap), ("userDefined", &disk.user_defined)]
    {
        match details {
            Some(id) if id.is_empty() => out.push_str(&format!("{name}: {{}}\n")),
            Some(id) => out.push_str(&format!("{name}:\n  platformDiskID: {}\n", id.value)),
            None => {}
        }
    }
    let at = out.find("userDefined").unwrap_or(out.len());
    if !disk.kind.is_empty() {
        out.insert_str(at, &format!("type: {}\n", disk.kind.value));
    }
    out
}

fn check_fencing(context: &mut Context<'_>) -> Result<(), Crash> {
    let config = context.config;
    let control = &config.control_plane;
    let path = "controlPlane.fencing.credentials";
    let mut count = 0;
    let mut place = control.place;
    if let Some(fencing) = &control.fencing {
        count = fencing.credentials.len();
        place = fencing.credentials_place;
        let mut hosts = HashSet::new();
        let mut addresses = HashSet::new();
        let empty = fencing.credentials.iter().find(|credential| credential.is_null);
        if let Some(empty) = empty.filter(|_| context.release >= Release::V4_20) {
            return Err(Crash::at("fencing-credential-empty", path, empty.place));
        }
        // 4.19 does not look at one that is empty.
        let written = fencing.credentials.iter().enumerate().filter(|(_, it)| !it.is_null);
        for (i, credential) in written {
            let of = |name: &str| format!("{path}[{i}].{name}");
            let out = &mut *context.out;
            for (value, name, go_name, seen) in [
                (&credential.host_name, "hostName", "HostName", Some(&mut hosts)),
                (&credential.username, "username", "Username", None),
                (&credential.address, "address", "Address", Some(&mut addresses)),
            ] {
                if value.is_empty() {
                    let text = format!("missing {go_name}");
                    out.required("fencing-credential-incomplete", of(name), value.place, text);
                } else if let Some(seen) = seen
                    && !seen.insert(value.as_str())
                {
                    let bad = Bad::text(value.as_str());
                    out.duplicate("fencing-credential-doubled", of(name), value.place, bad);
                }
            }
            if !credential.has_password.value {
                let place = credential.has_password.place;
                let text = "missing Password";
                out.required("fencing-credential-incomplete", of("password"), place, text);
            }
            let verification = &credential.certificate_verification;
            if !matches!(verification.as_str(), "" | "Enabled" | "Disabled") {
                let shown = quote(verification.as_str());
                let text = format!(
                    "invalid certificate verification; {shown} should set to one of the following: \
                     ['Enabled' (default), 'Disabled']"
                );
                let path = format!("{path}[{i}][CertificateVerification]");
                let bad = Bad::text(verification.as_str());
                out.invalid("fencing-verification-unknown", path, verification.place, bad, text);
            }
        }
        let platform = config.platform.name();
        if !["none", "external", "baremetal"].iter().any(|name| config.platform.has(name)) {
            let text = format!(
                "fencing is only supported on baremetal, external or none platforms, instead \
                 {platform} platform was found"
            );
            context.out.forbidden(
                "fencing-not-on-platform",
                "controlPlane.fencing",
                fencing.place,
                text,
            );
        }
    }
    let with_arbiter = config.arbiter.as_ref().is_some_and(|pool| pool.replicas.value > 0);
    if with_arbiter {
        return Ok(());
    }
    let two_nodes = control.replicas.value == 2;
    if two_nodes && count != 2 {
        let text = format!(
            "there should be exactly two fencing credentials to support the two node cluster, \
             instead {count} credentials were found"
        );
        context.out.forbidden("fencing-credentials-count", path, place, text);
    } else if !two_nodes && count != 0 {
        let text = format!(
            "there should not be any fencing credentials configured for a non dual replica control \
             plane (Two Nodes Fencing) cluster, instead {count} credentials were found"
        );
        context.out.forbidden("fencing-credentials-count", path, place, text);
    }
    Ok(())
}

fn check_arbiter(context: &mut Context<'_>) -> Result<(), Crash> {
    let config = context.config;
    let Some(arbiter) = &config.arbiter else { return Ok(()) };
    features::crash_of_unknown_set_for_arbiter(context)?;
    if !features::gate_is_on(config, context.release, "HighlyAvailableArbiter") {
        let text = "HighlyAvailableArbiter feature must be enabled in order to use arbiter cluster \
                    deployment";
        context.out.forbidden("arbiter-gated", "arbiter", arbiter.place, text);
        return Ok(());
    }
    if config.platform.baremetal.is_none() {
        let bad = Bad::text(config.platform.name());
        let place = config.platform.place;
        context.out.not_supported(
            "arbiter-not-on-platform",
            "arbiter.platform",
            place,
            bad,
            &["baremetal"],
        );
    }
    let path = "arbiter.replicas";
    if arbiter.replicas.value == 0 {
        let text = "number of arbiter replicas must be positive";
        let place = arbiter.replicas.place;
        context.out.invalid("arbiter-empty", path, place, Bad::plain(0), text);
    }
    let masters = &config.control_plane.replicas;
    if masters.value < 2 {
        let text = "number of controlPlane replicas must be at least 2 for arbiter deployments";
        let bad = Bad::plain(masters.value);
        context.out.invalid("arbiter-with-too-few-masters", path, masters.place, bad, text);
    }
    check_pool(arbiter, "arbiter", context);
    Ok(())
}

fn check_compute(context: &mut Context<'_>) {
    let config = context.config;
    let mut seen = HashSet::new();
    for (i, pool) in config.compute.iter().enumerate() {
        let path = format!("compute[{i}]");
        let name = &pool.name;
        let supported: &[&str] = match name.as_str() {
            "worker" => &[],
            "edge" if config.platform.name() == "aws" => &[],
            "edge" => &["worker"],
            _ => &["worker", "edge"],
        };
        let name_path = || format!("{path}.name");
        if !supported.is_empty() {
            let bad = Bad::text(name.as_str());
            context.out.not_supported(
                "compute-name-unknown",
                name_path(),
                name.place,
                bad,
                supported,
            );
        }
        if !seen.insert(name.as_str()) {
            let bad = Bad::text(name.as_str());
            context.out.duplicate("compute-doubled", name_path(), name.place, bad);
        }
        let architecture = &pool.architecture;
        let multi = matches!(config.platform.name(), "aws" | "gcp");
        if architecture.value != config.control_plane.architecture.value && !multi {
            let text = "heteregeneous multi-arch is not supported; compute pool architecture must \
                        match control plane";
            let path = format!("{path}.architecture");
            let bad = Bad::text(architecture.as_str());
            context.out.invalid("architectures-differ", path, architecture.place, bad, text);
        }
        check_pool(pool, &path, context);
        if let Some(fencing) = &pool.fencing {
            let path = format!("{path}.fencing");
            let text = "fencing is only valid for control plane";
            context.out.invalid("fencing-on-compute", path, fencing.place, Bad::Secret, text);
        }
    }
}

/// Since 4.17 the payload of the installer must be of the architecture.
fn check_architectures(context: &mut Context<'_>) {
    let Some(payload) = context.installer.payload.filter(|_| context.release >= Release::V4_17)
    else {
        return;
    };
    let config = context.config;
    let compute = config.compute.iter().enumerate();
    let compute = compute.map(|(i, pool)| ("compute", format!("compute[{i}]"), pool));
    let control = ("controlPlane", "controlPlane".to_string(), &config.control_plane);
    for (node, path, pool) in std::iter::once(control).chain(compute) {
        let architecture = &pool.architecture;
        if architecture.value != payload {
            let text = format!(
                "cannot create {} {node} node from a single architecture {payload} release payload",
                architecture.value
            );
            let path = format!("{path}.architecture");
            let bad = Bad::text(architecture.as_str());
            context.out.invalid("release-architecture", path, architecture.place, bad, text);
        }
    }
}
