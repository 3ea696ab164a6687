-- What an attempt has spent: written while it runs, upwards only, and settled when it ends. NULL is unknown.
-- Input tokens include those read from and written to a cache.
ALTER TABLE attempts
  ADD COLUMN input_tokens        bigint,
  ADD COLUMN cache_tokens        bigint,
  ADD COLUMN cache_write_tokens  bigint,
  ADD COLUMN output_tokens       bigint,
  ADD COLUMN cost_usd            double precision,
  ADD COLUMN cost_is_estimated   boolean,
  ADD COLUMN model               text;

-- Of the attempt that ended last, as the others are.
ALTER TABLE trials ADD COLUMN cache_write_tokens bigint;
