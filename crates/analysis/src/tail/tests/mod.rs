mod calibration;
mod disturbed;
mod fixtures;
mod properties;
mod refusals;
