mod calibration;
mod fixtures;
mod properties;
mod refusals;
