//! Management messages of linuxptp.
