use super::baremetal::{BMC, ROOT_DEVICE_HINTS};
use super::{API_VERSION, KIND, OBJECT_META, Shape, TEXT, TEXTS, Type, field};
use crate::release::Release;

pub(crate) static AGENT_CONFIG: Shape = Shape {
    name: "Config",
    go_type: "agent.Config",
    fields: &[
        API_VERSION,
        KIND,
        field("metadata", Type::Struct(&OBJECT_META)),
        field("additionalNTPSources", TEXTS),
        field("rendezvousIP", TEXT),
        field("bootArtifactsBaseURL", TEXT),
        field("hosts", Type::List("[]agent.Host", &Type::Struct(&HOST))),
        field("minimalISO", Type::Bool).since(Release::V4_18),
    ],
};

static HOST: Shape = Shape {
    name: "Host",
    go_type: "agent.Host",
    fields: &[
        field("hostname", TEXT),
        field("role", TEXT),
        field("rootDeviceHints", Type::Struct(&ROOT_DEVICE_HINTS)),
        field("interfaces", Type::List("[]*v1beta1.Interface", &Type::Struct(&INTERFACE))),
        field("networkConfig", Type::Raw),
        // It has no JSON name of its own, so its Go name is the key.
        field("BMC", Type::Struct(&BMC)).since(Release::V4_15),
    ],
};

static INTERFACE: Shape = Shape {
    name: "Interface",
    go_type: "v1beta1.Interface",
    fields: &[field("name", TEXT), field("macAddress", TEXT)],
};
