//! How the cluster shows itself, and the mode of credentials: on bare metal there is no choice.

use crate::check::Context;
use crate::go::text::quote;
use crate::refusal::Bad;
use crate::release::Release;

pub(crate) fn check(context: &mut Context<'_>) {
    let config = context.config;
    let publish = &config.publish;
    let mixed = context.release >= Release::V4_15;
    let supported: &[&str] =
        if mixed { &["External", "Internal", "Mixed"] } else { &["External", "Internal"] };
    if !supported.contains(&publish.as_str()) {
        let bad = Bad::text(publish.as_str());
        context.out.not_supported("publish-unknown", "publish", publish.place, bad, supported);
    }
    check_credentials_mode(context);
    let platform = config.platform.name();
    let cloud =
        matches!(platform, "aws" | "azure" | "gcp" | "ibmcloud" | "powervs" | "alibabacloud");
    if publish.value == "Internal" && !cloud {
        let text =
            format!("Internal publish strategy is not supported on {} platform", quote(platform));
        let bad = Bad::text(publish.as_str());
        context.out.invalid(
            "publish-internal-not-on-platform",
            "publish",
            publish.place,
            bad,
            text,
        );
    }
    if mixed {
        check_mixed(context);
    }
}

fn check_credentials_mode(context: &mut Context<'_>) {
    let mode = &context.config.credentials_mode;
    let platform = context.config.platform.name();
    let cloud = ["aws", "azure", "gcp", "ibmcloud", "powervs", "nutanix", "alibabacloud"];
    if mode.is_empty() || cloud.contains(&platform) {
        return;
    }
    let text = format!("cannot be set when using the {} platform", quote(platform));
    let bad = Bad::text(mode.as_str());
    context.out.invalid(
        "credentials-mode-not-on-platform",
        "credentialsMode",
        mode.place,
        bad,
        text,
    );
}

fn check_mixed(context: &mut Context<'_>) {
    let config = context.config;
    let publish = &config.publish;
    let bad = || Bad::text(publish.as_str());
    let strategy = config.operator_publishing.as_ref();
    if publish.value == "Mixed" {
        let platform = config.platform.name();
        if platform != "azure" {
            let text =
                format!("mixed publish strategy is not supported on {} platform", quote(platform));
            context.out.invalid(
                "publish-mixed-not-on-platform",
                "publish",
                publish.place,
                bad(),
                text,
            );
        }
        if strategy.is_none() {
            let text = "please specify the operator publishing strategy for mixed publish strategy";
            context.out.invalid(
                "operator-publishing-missing",
                "publish",
                publish.place,
                bad(),
                text,
            );
        }
    } else if let Some(strategy) = strategy {
        let text = "operator publishing strategy is only allowed with mixed publishing strategy \
                    installs";
        let path = "operatorPublishingStrategy";
        context.out.invalid("operator-publishing-not-mixed", path, strategy.place, bad(), text);
    }
    let Some(strategy) = strategy else { return };
    let or_external =
        |text: &str| if text.is_empty() { "External".into() } else { text.to_string() };
    let api = or_external(strategy.api_server.as_str());
    let ingress = or_external(strategy.ingress.as_str());
    for (path, value, place) in [
        ("apiserver", &api, strategy.api_server.place),
        ("ingress", &ingress, strategy.ingress.place),
    ] {
        if !matches!(value.as_str(), "Internal" | "External") {
            let supported = &["External", "Internal"];
            context.out.not_supported(
                "operator-publishing-unknown",
                path,
                place,
                Bad::text(value),
                supported,
            );
        }
    }
    if api == "Internal" && ingress == "Internal" {
        let text = "cannot set both fields to internal in a mixed cluster, use publish internal \
                    instead";
        let place = strategy.api_server.place;
        context.out.invalid(
            "operator-publishing-all-internal",
            "publish",
            place,
            Bad::text(&api),
            text,
        );
    }
}
