//! Enums whose variants have names in summaries: each variant is declared once, together with its name.

/// Declares such an enum with `ALL`, its variants in the order of their declaration, and `name`.
macro_rules! named {
    ($(#[$about:meta])* pub enum $Enum:ident { $($(#[$doc:meta])* $Variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        pub enum $Enum { $($(#[$doc])* $Variant,)* }

        impl $Enum {
            /// Every kind, in the order of their declaration.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Variant),*];

            /// Its name in summaries and tables.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)* }
            }
        }
    };
}

pub(crate) use named;
