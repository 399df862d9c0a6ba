//! The schemas of names, ids and times, for programs that describe an API made of them.

use crate::record::{WaitAddress, WaitRef};
use crate::{
    Actor, ApiKeyId, Build, Capability, Category, Class, CommandId, ExecutionId, IdempotencyKey, Kind, Lane, LeaseId,
    Millis, Namespace, Reason, SignalId, SignalName, Span, TagKey, TagValue, TokenKeyId, TraceContext, UniqueKey,
    WaitName, WorkerName, limits,
};
use std::borrow::Cow;
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The alphabet of names that are part of keys.
const PLAIN: &str = "^[A-Za-z0-9._-]+$";
/// The alphabet of the names of waits, and of waits themselves.
const PATH: &str = "^[A-Za-z0-9._/-]+$";
const WAIT: &str = "^[A-Za-z0-9._/-]+(#[1-9][0-9]{0,8})?$";
/// The alphabet of names for people.
const PRINTABLE: &str = r"^[^\u0000-\u001f\u007f-\u009f]+$";

fn text(describe: &str, max: usize, pattern: &str, example: &str) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .description(Some(describe))
        .min_length(Some(1))
        .max_length(Some(max))
        .pattern(Some(pattern))
        .examples([example])
        .build()
        .into()
}

fn number(describe: &str, example: u64) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Integer))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .description(Some(describe))
        .minimum(Some(0))
        .examples([example])
        .build()
        .into()
}

fn number_or_text(describe: &str, example: u64, text: RefOr<Schema>) -> RefOr<Schema> {
    OneOfBuilder::new().item(number("Milliseconds.", example)).item(text).description(Some(describe)).into()
}

impl PartialSchema for Class {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new()
            .items(RefOr::Ref(Ref::from_schema_name("Capability")))
            .description(Some("Capabilities, each at most once."))
            .max_items(Some(limits::CAPABILITIES_MAX))
            .build()
            .into()
    }
}

impl ToSchema for Class {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Capability::name().into_owned(), Capability::schema()));
    }
}

/// A time that a caller may also write as text.
#[derive(Debug)]
pub struct Time;

/// Declares the schema of a type.
macro_rules! schema {
    ($($type:ident => $schema:expr,)*) => {$(
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                $schema
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($type))
            }
        }
    )*};
}

schema! {
    Namespace => text("Namespace: the executions, lanes and events of one tenant.", limits::NAMESPACE_BYTES_MAX, PLAIN, "default"),
    Lane => text("Name of a lane, which is a queue. A lane exists as soon as it is used.", limits::LANE_BYTES_MAX, PLAIN, "emails"),
    Kind => text("Kind of work, which selects the handler.", limits::KIND_BYTES_MAX, PRINTABLE, "send-email"),
    WorkerName => text("Name of a worker, for people.", limits::WORKER_BYTES_MAX, PRINTABLE, "mailer-1"),
    Build => text("Build of a worker, for people: a version, or a commit.", limits::BUILD_BYTES_MAX, PRINTABLE, "1.4.2"),
    IdempotencyKey => text(
        "Idempotency key: a submit with the same key returns the first execution.",
        limits::IDEMPOTENCY_KEY_BYTES_MAX, PRINTABLE, "order-17",
    ),
    UniqueKey => text("Unique key: at most one execution that has not ended has it.", limits::UNIQUE_KEY_BYTES_MAX, PRINTABLE, "nightly"),
    Capability => text("Capability of a worker.", limits::CAPABILITY_BYTES_MAX, PLAIN, "gpu"),
    WaitName => text("Name of a wait, to which signals are sent.", limits::WAIT_NAME_BYTES_MAX, PATH, "approval"),
    WaitRef => text("A wait: a name, or `name#2` for the second wait for it.", limits::WAIT_NAME_BYTES_MAX + 11, WAIT, "approval#1"),
    WaitAddress => text(
        "Where a signal goes: the name of a wait, or `name#2` for the second wait for it only.",
        limits::WAIT_NAME_BYTES_MAX + 11, WAIT, "approval",
    ),
    SignalName => text("Name of a signal.", limits::SIGNAL_NAME_BYTES_MAX, PRINTABLE, "approved"),
    SignalId => text("Id of a signal, unique within its execution.", 32, "^[0-9a-f]{32}$", "0192f0c8000070008000000000000001"),
    TagKey => text("Key of a tag.", limits::TAG_BYTES_MAX, PLAIN, "customer"),
    TagValue => text("Value of a tag.", limits::TAG_BYTES_MAX, PRINTABLE, "42"),
    Category => text(
        "Category of a failure; `permanent` and `cancelled` are never retried.",
        limits::CATEGORY_BYTES_MAX, "^[a-z0-9_]+$", "transient",
    ),
    ExecutionId => text(
        "Id of an execution.",
        64, "^x-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-(0|[1-9][0-9]{0,4})$",
        "x-0192f0c8-0000-7000-8000-000000000001-17",
    ),
    CommandId => text("Id of a call; a retry with the same id returns the first result.", 32, "^[0-9a-f]{32}$", "0192f0c8000070008000000000000001"),
    ApiKeyId => text("Id of an API key.", 32, "^[0-9a-f]{32}$", "0192f0c8000070008000000000000001"),
    TokenKeyId => text("Id of a key that signs tokens.", 32, "^[0-9a-f]{32}$", "0192f0c8000070008000000000000001"),
    Actor => text("Name of an operator or of the holder of an API key.", limits::ACTOR_BYTES_MAX, PRINTABLE, "ada"),
    LeaseId => text("Id of a lease.", 32, "^[0-9a-f]{32}$", "0192f0c8000070008000000000000001"),
    TraceContext => text(
        "Trace context of the submitter, as in the W3C header `traceparent`.",
        55, "^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ),
    Millis => number("Time in milliseconds since 1970, on the store's clock.", 1_800_000_000_000),
    Time => {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        let text = ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).format(Some(format));
        let text = text.examples(["2030-01-01T09:00:00Z"]).into();
        number_or_text("A time: milliseconds since 1970, or text with a zone.", 1_800_000_000_000, text)
    },
    Span => {
        let pattern = "^([0-9]{1,3}d)?([0-9]{1,3}h)?([0-9]{1,3}m)?[0-9]{1,5}(s|ms)$";
        let about = "A length of time: milliseconds, or text such as 30s, 5m, 1h30m or 2d. Answers hold milliseconds.";
        number_or_text(about, 30_000, text("Text with units.", 40, pattern, "30s"))
    },
    Reason => ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .description(Some("Short text for people, truncated to 512 bytes."))
        .examples(["the customer changed their mind"])
        .build()
        .into(),
}
