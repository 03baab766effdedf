//! What the account may do, as far as it can be told without doing it.

use crate::documents::Documents;
use crate::reading::{Family, Permission, Privilege};
use crate::value::{flag, list, text, texts};

/// Older firmware of an XCC writes the second with three c.
const LENOVO_MEDIA: [&str; 3] =
    ["Supervisor", "RemoteConsoleAndVirtualMediaAccess", "RemoteConsoleAndVirtualMediaAcccess"];

pub fn privilege(documents: &Documents, family: Family) -> Privilege {
    let role = text(&documents.account, "/RoleId").or_else(|| text(&documents.role, "/RoleId"));
    let (mut virtual_media, mut detail) = (virtual_media(documents, family), None);
    let mut boot_override = boot_override(documents);
    // Nothing that a role says is worth more than a refusal.
    if let Some(why) = &documents.media_refused {
        (virtual_media, detail) = (Permission::Denied, Some(format!("virtual media: {why}")));
    }
    let methods = &documents.system_allow;
    if !methods.is_empty() && !methods.iter().any(|method| method == "PATCH") {
        boot_override = Permission::Denied;
        detail.get_or_insert_with(|| "the system offers no PATCH".into());
    }
    if let Some(role) = &role {
        detail.get_or_insert_with(|| format!("by the account and its role {role}"));
    }
    Privilege { virtual_media, boot_override, role, detail }
}

fn virtual_media(documents: &Documents, family: Family) -> Permission {
    // An iLO tells it of each account.
    let told = ["/Oem/Hpe", "/Oem/Hp"].iter().find_map(|vendor| {
        flag(&documents.account, &format!("{vendor}/Privileges/VirtualMediaPriv"))
    });
    if let Some(told) = told {
        return permission(told);
    }
    let own = texts(&documents.role, "/OemPrivileges");
    let has = |name: &str| own.iter().any(|privilege| privilege == name);
    match family {
        Family::Idrac if !own.is_empty() => permission(has("AccessVirtualMedia")),
        Family::Lenovo if !own.is_empty() => permission(LENOVO_MEDIA.iter().any(|name| has(name))),
        _ => standard(documents, "ConfigureManager"),
    }
}

fn boot_override(documents: &Documents) -> Permission {
    standard(documents, "ConfigureComponents")
}

/// Who may configure neither components nor the manager may do neither; beyond that services differ.
fn standard(documents: &Documents, needed: &str) -> Permission {
    let id = text(&documents.account, "/RoleId").unwrap_or_default();
    if list(&documents.role, "/AssignedPrivileges").is_empty() {
        return match id.as_str() {
            "Administrator" => Permission::Allowed,
            "ReadOnly" => Permission::Denied,
            _ => Permission::Unknown,
        };
    }
    let given = texts(&documents.role, "/AssignedPrivileges");
    let has = |name: &str| given.iter().any(|privilege| privilege == name);
    match () {
        () if has(needed) => Permission::Allowed,
        () if has("ConfigureComponents") || has("ConfigureManager") => Permission::Unknown,
        () => Permission::Denied,
    }
}

fn permission(allowed: bool) -> Permission {
    if allowed { Permission::Allowed } else { Permission::Denied }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn judged(account: Value, role: Value, family: Family) -> (Permission, Permission) {
        let documents = Documents { account, role, ..Documents::default() };
        let privilege = privilege(&documents, family);
        (privilege.virtual_media, privilege.boot_override)
    }

    #[test]
    fn roles_are_judged_as_their_vendors_mean_them() {
        use Permission::{Allowed, Denied, Unknown};
        let read_only = json!({"AssignedPrivileges": ["Login", "ConfigureSelf"]});
        let operator = json!({"AssignedPrivileges": ["Login", "ConfigureComponents"],
            "OemPrivileges": ["AccessVirtualMedia"]});
        let misspelt = json!({"AssignedPrivileges": ["Login", "ConfigureComponents"],
            "OemPrivileges": ["RemoteConsoleAndVirtualMediaAcccess"]});
        let hpe = json!({"Oem": {"Hpe": {"Privileges": {"VirtualMediaPriv": false}}}});
        let none = json!({});
        for (account, role, family, expected) in [
            (json!({"RoleId": "Administrator"}), none.clone(), Family::Generic, (Allowed, Allowed)),
            (json!({"RoleId": "ReadOnly"}), none.clone(), Family::Generic, (Denied, Denied)),
            (json!({"RoleId": "Mine"}), none.clone(), Family::Generic, (Unknown, Unknown)),
            (none.clone(), read_only, Family::Generic, (Denied, Denied)),
            (none.clone(), operator.clone(), Family::Idrac, (Allowed, Allowed)),
            (none.clone(), operator.clone(), Family::Generic, (Unknown, Allowed)),
            (none.clone(), operator, Family::Lenovo, (Denied, Allowed)),
            (none.clone(), misspelt, Family::Lenovo, (Allowed, Allowed)),
            (hpe, none.clone(), Family::Ilo, (Denied, Unknown)),
            (none.clone(), none, Family::Generic, (Unknown, Unknown)),
        ] {
            assert_eq!(judged(account, role, family), expected);
        }
    }

    #[test]
    fn a_refusal_and_a_missing_method_outweigh_the_role() {
        let documents = Documents {
            account: json!({"RoleId": "Administrator"}),
            media_refused: Some("it wants a licence".into()),
            system_allow: vec!["GET".into(), "HEAD".into()],
            ..Documents::default()
        };
        let privilege = privilege(&documents, Family::Supermicro);
        assert_eq!(privilege.virtual_media, Permission::Denied);
        assert_eq!(privilege.boot_override, Permission::Denied);
        assert!(privilege.detail.unwrap().contains("licence"));
    }
}
