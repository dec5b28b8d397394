//! Numbers of management TLVs (IEEE 1588-2019, table 59; linuxptp `tlv.h` for those that end in `_NP`).

use std::fmt;

/// Declares the known ids once, with the names that `pmc` takes and prints.
macro_rules! management_ids {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal;)*) => {
        /// A management TLV that this module can ask for and decode.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ManagementId {
            $($(#[$doc])* $variant,)*
        }

        impl ManagementId {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// `managementId` on the wire.
            pub fn number(self) -> u16 {
                match self {
                    $(Self::$variant => $number,)*
                }
            }

            /// The name that IEEE 1588 and `pmc` use.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The id with this number, where it is a known one.
            pub fn from_number(number: u16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

management_ids! {
    /// Attributes of the clock itself.
    DefaultDataSet = 0x2000, "DEFAULT_DATA_SET";
    /// Offset from the master and mean path delay as filtered by the daemon.
    CurrentDataSet = 0x2001, "CURRENT_DATA_SET";
    /// Parent port and grandmaster.
    ParentDataSet = 0x2002, "PARENT_DATA_SET";
    /// UTC offset, leap seconds and source of time of the grandmaster.
    TimePropertiesDataSet = 0x2003, "TIME_PROPERTIES_DATA_SET";
    /// State and intervals of one port; a clock with several ports sends one answer for each.
    PortDataSet = 0x2004, "PORT_DATA_SET";
    /// Last offset from the master, unfiltered.
    TimeStatus = 0xc000, "TIME_STATUS_NP";
    /// Attributes that the clock announces when it is grandmaster.
    GrandmasterSettings = 0xc001, "GRANDMASTER_SETTINGS_NP";
    /// Whether a port can run IEEE 802.1AS.
    PortDataSetNp = 0xc002, "PORT_DATA_SET_NP";
    /// The asker's subscription to notifications.
    SubscribeEvents = 0xc003, "SUBSCRIBE_EVENTS_NP";
    /// Interface and kind of time stamps of one port.
    PortProperties = 0xc004, "PORT_PROPERTIES_NP";
    /// Messages received and sent by one port.
    PortStats = 0xc005, "PORT_STATS_NP";
    /// The hardware clock of one port (linuxptp 4.0 and later).
    PortHwClock = 0xc009, "PORT_HWCLOCK_NP";
    /// Link delay of the common mean link delay service (linuxptp 4.3 and later).
    CmldsInfo = 0xc00b, "CMLDS_INFO_NP";
}

impl fmt::Display for ManagementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why the daemon did not do what was asked (IEEE 1588-2019, table 109).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManagementErrorId {
    /// The answer does not fit one message.
    ResponseTooBig,
    /// The daemon does not know the management id.
    NoSuchId,
    /// The TLV has another length than the daemon expects.
    WrongLength,
    /// A value is out of range.
    WrongValue,
    /// The daemon refuses to set this.
    NotSetable,
    /// The daemon knows the id but not this action on it.
    NotSupported,
    /// Any other reason.
    GeneralError,
    /// A number that IEEE 1588-2019 does not define.
    Other(u16),
}

impl From<u16> for ManagementErrorId {
    fn from(number: u16) -> Self {
        match number {
            1 => Self::ResponseTooBig,
            2 => Self::NoSuchId,
            3 => Self::WrongLength,
            4 => Self::WrongValue,
            5 => Self::NotSetable,
            6 => Self::NotSupported,
            0xfffe => Self::GeneralError,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for ManagementErrorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ResponseTooBig => "the response is too big",
            Self::NoSuchId => "no such management id",
            Self::WrongLength => "wrong length",
            Self::WrongValue => "wrong value",
            Self::NotSetable => "cannot be set",
            Self::NotSupported => "not supported",
            Self::GeneralError => "general error",
            Self::Other(number) => return write!(f, "unknown error {number:#06x}"),
        })
    }
}
