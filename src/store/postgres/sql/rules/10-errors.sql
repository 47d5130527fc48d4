-- Raises a refusal: an exception with an SQLSTATE of class HF, the code in front of the message, and the details as
-- JSON.
create or replace function holdfast.fail(code text, message text, details text default '{}', hint text default '')
returns void language plpgsql as $$
begin
  raise exception using
    errcode = case code
      when 'E_LOCK_CONFLICT' then 'HF001' when 'E_LOCK_EXPIRED' then 'HF002' when 'E_LOCK_NOT_HELD' then 'HF003'
      when 'E_LOCK_ORDER' then 'HF004' when 'E_FENCING_MISMATCH' then 'HF005' when 'E_FORBIDDEN' then 'HF006'
      when 'E_INVALID_ARGUMENT' then 'HF007' when 'E_NOT_FOUND' then 'HF008' when 'E_CONFIG' then 'HF009'
      when 'E_STORE_UNAVAILABLE' then 'HF010' when 'E_STORE_CORRUPT' then 'HF011'
      when 'E_FORMAT_UNSUPPORTED' then 'HF012' else 'HF000' end,
    message = code || ': ' || message,
    detail = details,
    hint = hint;
end $$;

create or replace function holdfast.invalid(field text, message text) returns void language plpgsql as $$
begin
  perform holdfast.fail('E_INVALID_ARGUMENT', field || ': ' || message, json_build_object('field', field)::text);
end $$;

create or replace function holdfast.not_held(resource text, message text) returns void language plpgsql as $$
begin
  if resource is null then perform holdfast.invalid('keys', 'a list of keys, in one dimension'); end if;
  perform holdfast.fail('E_LOCK_NOT_HELD', message, json_build_object('resource', resource)::text);
end $$;
