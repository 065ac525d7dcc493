import { timelineSql } from "./database.js";
import { leaseTableSql } from "./leases.js";
import type { Migration } from "./migrations.js";

/**
 * The schema of a fleet. Texts of JSON are stored as they are: they are read by Trawl only, and come back byte for byte.
 *
 * - `partition`: the repositories of one owner at a time, as a manifest. `version` counts its flips. Its row is locked by each flip.
 * - `flip`: the flips that others follow, each with what it changed.
 * - `repository`, `shard`: what the manifest has. A row of a shard that a flip removed has its version in `removed`, and stays until
 *   the flips before it are forgotten.
 * - `fleet`: the one row that says which fleet this is, how many partitions it has, for ever, and how many copies each should have, 0 for one at each
 *   node. With several partitions, programs that know only one are kept out by `divideFleet`. `node`: its nodes, as they tell of themselves.
 * - `plan`: the one row that counts the plans. A plan is `partition.owner`, the node that should own it, and the rows of `copy`: where copies of partitions
 *   should be. Nodes write into their own copies what they have.
 * - `lease`: who does what only one node may do.
 */
export const schema: readonly Migration[] = [
  {
    number: 1,
    neededFrom: 1,
    sql: `
      create function current_timeline() returns int language sql volatile as $$ select ${timelineSql} $$;
      ${leaseTableSql};
      create table partition (
        id int primary key check (id >= 0),
        holder text not null default '',
        epoch bigint not null default 0,
        until timestamptz not null default '-infinity',
        version bigint not null default 0,
        flip_id text not null default '',
        next_repository_id bigint not null default 1);
      create table flip (
        partition int not null references partition,
        version bigint not null,
        id text not null,
        epoch bigint not null,
        timeline int not null,
        made timestamptz not null default clock_timestamp(),
        change text not null,
        primary key (partition, version));
      create unique index flip_id on flip (id);
      create table repository (
        partition int not null references partition,
        id bigint not null,
        name text not null,
        record text not null,
        primary key (partition, id),
        constraint repository_name unique (name) deferrable initially deferred);
      create table shard (
        partition int not null references partition,
        name text not null,
        kind text not null check (kind in ('text', 'history')),
        record text not null,
        tombstones bytea,
        added bigint not null,
        removed bigint,
        primary key (partition, name));
    `,
  },
  {
    number: 2,
    neededFrom: 2,
    sql: `
      create table fleet (
        id text primary key,
        name text not null,
        is_only boolean not null default true unique check (is_only));
      create table node (
        id text primary key,
        name text not null unique,
        program text not null default '',
        version bigint not null default 0,
        failure text not null default '',
        seen timestamptz);
    `,
  },
  {
    number: 3,
    neededFrom: 2,
    sql: "create index shard_removed on shard (partition, removed) where removed is not null",
  },
  {
    number: 4,
    neededFrom: 2,
    sql: `
      alter table node add column is_draining boolean not null default false, add column stopped timestamptz;
      alter table partition add column owner text references node on delete set null;
      create table copy (
        partition int not null references partition,
        node text not null references node on delete cascade,
        state text not null check (state in ('loading', 'ready', 'leaving')),
        version bigint not null default 0,
        bytes bigint not null default 0 check (bytes >= 0),
        primary key (partition, node));
      create index copy_node on copy (node);
      create table plan (
        version bigint not null default 0,
        refusal text not null default '',
        without_room int not null default 0,
        is_only boolean not null default true unique check (is_only));
      insert into plan default values;
    `,
  },
  {
    number: 5,
    neededFrom: 2,
    sql: `
      alter table fleet add column partitions int not null default 1 check (partitions between 1 and 4096),
        add column copies int not null default 0 check (copies >= 0);
      alter table node add column address text not null default '';
    `,
  },
  {
    number: 6,
    neededFrom: 2,
    // Null as long as the node runs a program that does not report it.
    sql: "alter table copy add column failing boolean",
  },
];
