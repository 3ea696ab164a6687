-- Counts by name are read from the rows, and whoever asks for some has a least total: see _tools in trials/matching.py.
CREATE INDEX trials_tool_calls ON trials (org_id, task_id, task_version, total_tool_calls)
  WHERE tool_counts IS NOT NULL AND deleted_at IS NULL AND superseded_by_trial_id IS NULL AND is_probe IS FALSE;
