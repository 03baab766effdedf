/// Where something stands in the user's file. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    pub const START: Place = Place { line: 1, column: 1 };
}

/// A value of the config, and where it stands. A value that nobody wrote is a default of the
/// installer (or empty), and its place is the nearest key above that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    pub value: T,
    pub place: Place,
    pub written: bool,
}

impl<T> Placed<T> {
    pub fn written(value: T, place: Place) -> Self {
        Self { value, place, written: true }
    }

    pub fn default_at(value: T, place: Place) -> Self {
        Self { value, place, written: false }
    }
}

impl Placed<String> {
    pub fn as_str(&self) -> &str {
        &self.value
    }

    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Sets the default of the installer where the user wrote nothing.
    pub(crate) fn or_default(&mut self, value: &str) {
        if self.value.is_empty() {
            self.value = value.to_string();
            self.written = false;
        }
    }
}
