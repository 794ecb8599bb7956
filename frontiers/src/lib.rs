//! Folds, out-of-fold scores and the estimators that judge a trigger (protocol sections 4 and 5).
