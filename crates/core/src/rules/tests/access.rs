//! Keys: who gets one, who loses it, and what an audit is told.

use crate::record::{ApiKey, Role};
use crate::rules::world::World;
use crate::rules::world::make::{issue_key, revoke_key};
use crate::{Command, IssueKey, Namespace, Rejection, Reply, Span, What, When};

fn issued(world: &mut World, command: u128, change: impl FnOnce(&mut IssueKey)) -> Result<ApiKey, Rejection> {
    let Command::IssueKey(mut issue) = issue_key(command, command) else { unreachable!() };
    change(&mut issue);
    match world.home(&Command::IssueKey(issue)).result? {
        Reply::IssueKey(key) => Ok(*key),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_is_good_until_it_expires_or_is_revoked() {
    let mut world = World::new(4);
    let key = issued(&mut world, 1, |issue| issue.expires = Some(When::After(Span::hours(1)))).unwrap();
    let end = world.now + Span::hours(1);
    assert!(key.is_good(world.now) && key.is_good(end - Span(1)) && !key.is_good(end));
    let Ok(Reply::RevokeKey(revoked)) = world.home(&revoke_key(1)).result else { panic!("it exists") };
    assert!(!revoked.is_good(world.now));
    assert_eq!(world.home(&revoke_key(9)).result.unwrap_err().code(), "key_not_found");
}

#[test]
fn a_key_reaches_the_namespaces_it_names_and_without_any_all() {
    let mut world = World::new(4);
    let billing: Namespace = "billing".parse().unwrap();
    let narrow = issued(&mut world, 1, |issue| issue.namespaces = [billing.clone()].into()).unwrap();
    assert!(narrow.reaches(&billing) && !narrow.reaches(&Namespace::default()));
    assert!(issued(&mut world, 2, |_| ()).unwrap().reaches(&billing));
}

#[test]
fn senseless_keys_are_refused() {
    let mut world = World::new(4);
    let many: Vec<Namespace> = (0..65).map(|n| format!("n{n}").parse().unwrap()).collect();
    for (field, change) in [
        ("roles", Box::new(|issue: &mut IssueKey| issue.roles.clear()) as Box<dyn FnOnce(&mut IssueKey)>),
        ("namespaces", Box::new(move |issue| issue.namespaces = many.into_iter().collect())),
        (
            "namespaces",
            Box::new(|issue| {
                issue.roles.insert(Role::Admin);
                issue.namespaces = ["billing".parse().unwrap()].into();
            }),
        ),
    ] {
        let refusal = issued(&mut world, 1, change).unwrap_err();
        assert!(matches!(&refusal, Rejection::InvalidArgument { field: found, .. } if *found == field), "{refusal}");
    }
    issued(&mut world, 1, |_| ()).unwrap();
    let taken = issued(&mut world, 2, |issue| issue.id = crate::ApiKeyId(1)).unwrap_err();
    assert_eq!(taken.code(), "invalid_argument", "another call has the id");
}

#[test]
fn an_audit_is_told_who_did_it() {
    let mut world = World::new(4);
    world.accept(&issue_key(1, 7));
    world.accept(&revoke_key(7));
    let told: Vec<_> = world.events.iter().map(|event| (event.what.name(), event.by.clone())).collect();
    assert_eq!(told, [("key_issued", None), ("key_revoked", Some("grace".parse().unwrap()))]);
    assert!(matches!(&world.events[1].what, What::KeyRevoked { name, .. } if name.as_str() == "ada"));
}
