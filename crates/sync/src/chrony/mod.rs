//! Messages of the command protocol of chronyd.
