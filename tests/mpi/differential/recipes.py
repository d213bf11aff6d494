"""How each function is called: with which arguments, and between which other calls.

An argument follows from the type and the name of its parameter (ARGUMENTS, RESULTS), or is stated
by the function's recipe. Names are those of mpi.h; what a call is given is declared in calls.h. The
first recipe whose pattern a name matches, without the _c of large counts, is the function's.
"""

import re
from typing import NamedTuple

WORLD = "MPI_COMM_WORLD"

# Functions of a communicator, a group, or an object made of one.
SUBJECTS = {
    *("MPI_Comm", "MPI_Group", "MPI_Win", "MPI_File"),
    *("MPI_Comm*", "MPI_Group*", "MPI_Win*", "MPI_File*"),
}

# Not called, and why.
LEFT_OUT = {
    "MPI_Abort": "ends the job: its exit status has a test of its own",
    "MPI_Comm_spawn": "rejected while ranks are hidden, which has a test of its own",
    "MPI_Comm_spawn_multiple": "as MPI_Comm_spawn",
    "MPI_Comm_accept": "joins two jobs; ranks of one may not be on both sides",
    "MPI_Comm_connect": "as MPI_Comm_accept",
    "MPI_Comm_join": "needs a socket and no communicator; returns one of two processes",
    "MPIX_Comm_agree": "MPICH 4.0 has it in its header and ends the program that calls it",
    "MPIX_Comm_shrink": "as MPIX_Comm_agree",
    "MPIX_Comm_failure_ack": "as MPIX_Comm_agree",
    "MPIX_Comm_failure_get_acked": "as MPIX_Comm_agree",
    "MPIX_Comm_revoke": "as MPIX_Comm_agree",
}


class Recipe(NamedTuple):
    """One way to call. `until` repeats the call until that holds; `silent` results are hidden."""

    pattern: str
    arguments: dict = {}
    before: str = ""
    after: str = ""
    until: str = ""
    silent: tuple = ()
    # Called with MPI_COMM_WORLD too, which it rejects: the error must be the same.
    refuses_world: bool = False


# Arguments by type and pattern of the name.
ARGUMENTS = [
    ("MPI_Comm", r".*", WORLD),
    ("MPI_Group", r"group1?|local_group", "world_group"),
    ("MPI_Group", r"group2", "half_group"),
    ("MPI_Win", r".*", "window"),
    ("MPI_File", r".*", "file"),
    ("MPI_Comm*", r"comm", "&spare_comm"),
    ("MPI_Group*", r"group", "&made_group"),
    ("MPI_Datatype", r".*", "MPI_INT"),
    ("const MPI_Datatype[]", r".*", "types"),
    ("MPI_Op", r".*", "MPI_SUM"),
    ("MPI_Info", r".*", "MPI_INFO_NULL"),
    ("MPI_Errhandler", r".*", "MPI_ERRORS_RETURN"),
    ("int|MPI_Count", r"(in|send|recv|origin_|target_|result_)?(count|cout)|outcount", "2"),
    ("const int[]", r"(send|recv)counts", "counts"),
    ("const MPI_Count[]", r"(send|recv)counts", "large_counts"),
    ("const int[]", r"[sr]?displs", "displs"),
    ("const MPI_Aint[]", r"[sr]?displs", "large_displs"),
    ("int", r"root|rank|remote_leader", "size - 1"),
    ("int", r"dest|target_rank", "right"),
    ("int", r"source", "left"),
    ("int", r"tag|sendtag|recvtag", "5"),
    ("int", r"(mpi_)?assert|reorder|high|local_leader|lock_type|flag|direction|num_to_ack", "0"),
    ("MPI_Aint", r"target_disp", "0"),
    ("const void*", r"(send|i|in|origin_)?(buf|addr)", "given"),
    ("const void*", r"compare_addr", "&one"),
    ("void*", r"(recv|out|origin_|result_)?(buf|addr)", "got"),
    ("void*", r"buffer", "got"),
    ("const char*", r"(string)?tag|comm_name|win_name", '"of calls"'),
    ("int", r"comm_keyval|keyval", "keyval"),
    ("int", r"win_keyval", "win_keyval"),
    ("int", r"errorcode", "MPI_ERR_OTHER"),
    ("int|MPI_Aint", r"disp_unit", "sizeof(int)"),
    ("MPI_Offset", r"offset", "rank * 8"),
    ("int", r"whence", "MPI_SEEK_SET"),
]

# Results by type: the buffer, and how it is printed. {0} counts those of a kind.
RESULTS = [
    ("MPI_Comm*", "&made_comm", "say_comm(&made_comm);"),
    ("MPI_Group*", "&made_group", "say_group(&made_group);"),
    ("MPI_Win*", "&made_win", "say_win(&made_win);"),
    ("MPI_File*", "&made_file", "say_file(&made_file);"),
    ("MPI_Request*", "&request", ""),
    ("MPI_Status*", "&status", "say_status();"),
    ("MPI_Message*", "&message", ""),
    ("MPI_Errhandler*", "&handler", "say_handler(&handler);"),
    ("MPI_Info*", "&made_info", "say_info(&made_info);"),
    ("MPI_Datatype*", "&made_types[{0}]", "say_type(made_types[{0}]);"),
    ("int*", "&numbers[{0}]", 'say("{1}", numbers[{0}]);'),
    ("MPI_Count*", "&large[{0}]", 'say("{1}", large[{0}]);'),
    ("MPI_Aint*", "&address_numbers[{0}]", 'say("{1}", address_numbers[{0}]);'),
    ("MPI_Offset*", "&offsets[{0}]", 'say("{1}", offsets[{0}]);'),
    ("int[]", "lists[{0}]", 'say_list("{1}", lists[{0}]);'),
    ("char*", "text", 'fprintf(out, " %s", text);'),
]

RECEIVING = "MPI_Irecv(got, 2, MPI_INT, left, 5, MPI_COMM_WORLD, &other_request);"
READY = RECEIVING + " MPI_Barrier(MPI_COMM_WORLD);"
SENDING = "MPI_Isend(given, 2, MPI_INT, right, 5, MPI_COMM_WORLD, &other_request);"
AFTER = "MPI_Wait(&other_request, MPI_STATUS_IGNORE);"
TAKE = "MPI_Recv(got, 2, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);" + AFTER
TAKE_MATCHED = "MPI_Mrecv(got, 2, MPI_INT, &message, MPI_STATUS_IGNORE);" + AFTER
PARTITIONS = {"partitions": "2", "count": "1"}
OTHER_PART = "MPI_{}_init({}, 2, 1, MPI_INT, {}, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &other_request);"
PARTITIONED = (
    "MPI_Start(&request); MPI_Start(&other_request); MPI_Pready_range(0, 1, {});"
    "MPI_Wait(&request, &status); MPI_Wait(&other_request, MPI_STATUS_IGNORE);"
    "MPI_Request_free(&request); MPI_Request_free(&other_request);"
)
COUNTED = "handled = 0; MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);"
UNCOUNTED = 'MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); say("handled", handled);'

POINT_TO_POINT = [
    Recipe(r"MPI_I?rsend|MPI_Rsend_init", {}, READY, AFTER),
    Recipe(r"MPI_Psend_init", PARTITIONS, OTHER_PART.format("Precv", "got", "left"),
           PARTITIONED.format("request")),
    Recipe(r"MPI_Precv_init", PARTITIONS | {"dest": "left"},
           OTHER_PART.format("Psend", "given", "right"), PARTITIONED.format("other_request")),
    Recipe(r"MPI_I?[bs]?send|MPI_[Bs]?s?send_init", {}, RECEIVING, AFTER),
    Recipe(r"MPI_I?recv|MPI_Recv_init", {}, SENDING, AFTER),
    Recipe(r"MPI_Probe", {}, SENDING, TAKE),
    Recipe(r"MPI_Iprobe", {}, SENDING, TAKE, until="numbers[0]"),
    Recipe(r"MPI_Mprobe", {}, SENDING, TAKE_MATCHED),
    Recipe(r"MPI_Improbe", {}, SENDING, TAKE_MATCHED, until="numbers[0]"),
    Recipe(r"MPI_I?sendrecv(_replace)?"),
    Recipe(r"MPI_Pack", {"outsize": "BYTES", "position": "&{number}"}),
    Recipe(r"MPI_Pack_size"),
    Recipe(r"MPI_Unpack", {"inbuf": "packed", "insize": "BYTES", "position": "&{number}"},
           "numbers[7] = 0;"
           "MPI_Pack(given, 2, MPI_INT, packed, BYTES, &numbers[7], MPI_COMM_WORLD);"),
]

COLLECTIVES = [
    Recipe(r"MPIX?_I?bcast(_init)?", {}, "memcpy(got, given, sizeof got);"),
    Recipe(r"MPIX?_I?alltoallw(_init)?", {"sdispls": "{byte}displs", "rdispls": "{byte}displs"}),
    Recipe(r"MPIX?_I?neighbor_alltoallw(_init)?",
           {"comm": "ring", "sdispls": "{byte}displs", "rdispls": "{byte}displs"}),
    Recipe(r"MPIX?_I?neighbor_\w+", {"comm": "ring"}),
    Recipe(r"MPIX?_I?(barrier|(all)?gatherv?|scatterv?|alltoallv?|(all)?reduce"
           r"|reduce_scatter(_block)?|scan|exscan)(_init)?"),
]

# A communicator's own buffer, of MPI 4.1; only there are these names known to the compiler.
ATTACH = "MPI_Comm_attach_buffer(MPI_COMM_WORLD, packed, BYTES);"
DETACH = "MPI_Comm_detach_buffer(MPI_COMM_WORLD, &pointer, &numbers[7]);"
COMMUNICATORS = [
    Recipe(r"MPI_Comm_attach_buffer", {"buffer": "packed", "size": "BYTES"}, "", DETACH),
    Recipe(r"MPI_Comm_detach_buffer", {"buffer_addr": "&pointer"}, ATTACH,
           'say("own", pointer == packed);'),
    Recipe(r"MPI_Comm_i?flush_buffer", {}, ATTACH, DETACH),
    Recipe(r"MPI_Comm_(rank|size|group|test_inter|get_parent|dup|dup_with_info|idup"
           r"|idup_with_info|get_info)"),
    Recipe(r"MPI_Comm_compare", {"comm2": "ring"}),
    Recipe(r"MPI_Comm_create(_group)?"),
    Recipe(r"MPI_Comm_create_from_group"),
    Recipe(r"MPI_Comm_split", {"color": "rank % 2", "key": "-rank"}),
    Recipe(r"MPI_Comm_split_type", {"split_type": "MPI_COMM_TYPE_SHARED", "key": "-rank"}),
    Recipe(r"MPI_Comm_(free|disconnect)", {}, "MPI_Comm_dup(MPI_COMM_WORLD, &spare_comm);",
           'say("freed", spare_comm == MPI_COMM_NULL);'),
    Recipe(r"MPI_Comm_remote_(size|group)", {"comm": "between"}),
    Recipe(r"MPI_Intercomm_merge", {"intercomm": "between", "high": "rank % 2"},
           refuses_world=True),
    Recipe(r"MPI_Intercomm_create", {"local_comm": "half", "remote_leader": "1 - rank % 2"}),
    Recipe(r"MPI_Intercomm_create_from_groups",
           {"local_group": "half_group", "remote_group": "other_group",
            "remote_leader": "0"},
           "MPI_Group other_group; MPI_Comm_remote_group(between, &other_group);",
           "MPI_Group_free(&other_group);"),
    Recipe(r"MPI_Comm_set_info", {"info": "hints"}),
    Recipe(r"MPI_Comm_get_name", {}, 'MPI_Comm_set_name(MPI_COMM_WORLD, "MPI_COMM_WORLD");'),
    Recipe(r"MPI_Comm_set_name", {}, "",
           "MPI_Comm_get_name(MPI_COMM_WORLD, text, &numbers[7]); fputs(text, out);"
           'MPI_Comm_set_name(MPI_COMM_WORLD, "MPI_COMM_WORLD");'),
    Recipe(r"MPI_(Comm_call_errhandler)", {}, COUNTED, UNCOUNTED),
    Recipe(r"MPI_(Comm_set_errhandler|Errhandler_set)", {"errhandler": "counting"}, "handled = 0;",
           "MPI_Send(given, 1, MPI_INT, size, 5, MPI_COMM_WORLD);" + UNCOUNTED),
    Recipe(r"MPI_(Comm_get_errhandler|Errhandler_get)"),
    Recipe(r"MPI_(Comm_set_attr|Attr_put)", {"attribute_val": "&attribute"}, "",
           "MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &pointer, &numbers[0]);"
           'say("set", numbers[0] && pointer == &attribute);'),
    Recipe(r"MPI_(Comm_get_attr|Attr_get)", {"attribute_val": "&pointer"},
           "MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &attribute);",
           'say("own", pointer == &attribute);'),
    Recipe(r"MPI_(Comm_delete_attr|Attr_delete)", {},
           "MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &attribute);",
           "MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &pointer, &numbers[0]);"
           'say("still there", numbers[0]);'),
    Recipe(r"MPIX_Comm_(agree|shrink|failure_ack|failure_get_acked)", {}, "numbers[0] = 1;"),
    Recipe(r"MPIX_Comm_revoke", {"comm": "spare_comm"},
           "MPI_Comm_dup(MPI_COMM_WORLD, &spare_comm);",
           'numbers[0] = MPI_Barrier(spare_comm); say("revoked", numbers[0] != MPI_SUCCESS);'
           "MPI_Comm_free(&spare_comm); MPI_Barrier(MPI_COMM_WORLD);"),
    Recipe(r"MPIX_Comm_(get_failed|ack_failed|iagree|ishrink|is_revoked)", {}, "numbers[0] = 1;"),
]

TOPOLOGIES = [
    Recipe(r"MPI_Cart_create", {"ndims": "2", "dims": "ring_dims", "periods": "ring_periods"}),
    Recipe(r"MPI_Cart_map", {"ndims": "2", "dims": "ring_dims", "periods": "ring_periods"}),
    Recipe(r"MPI_Cart_(get|coords)", {"comm": "cart", "maxdims": "2"}),
    Recipe(r"MPI_Cart_rank", {"comm": "cart", "coords": "coordinates"}),
    Recipe(r"MPI_Cart_sub", {"comm": "cart", "remain_dims": "remaining"}),
    Recipe(r"MPI_Cart_shift", {"comm": "cart", "disp": "1"}),
    Recipe(r"MPI_Cartdim_get", {"comm": "cart"}),
    Recipe(r"MPI_Graph_(create|map)",
           {"nnodes": "size", "index": "ring_index", "indx": "ring_index", "edges": "ring_edges"}),
    Recipe(r"MPI_Graph_get", {"comm": "graph", "maxindex": "size", "maxedges": "2 * size"}),
    Recipe(r"MPI_Graph_neighbors(_count)?", {"comm": "graph", "maxneighbors": "2"}),
    Recipe(r"MPI_Graphdims_get", {"comm": "graph"}),
    Recipe(r"MPI_Dist_graph_create",
           {"n": "1", "nodes": "&rank", "sources": "&rank", "degrees": "&one", "targets": "&right",
            "destinations": "&right", "weights": "MPI_UNWEIGHTED"}),
    Recipe(r"MPI_Dist_graph_create_adjacent",
           {"indegree": "1", "sources": "&left", "sourceweights": "MPI_UNWEIGHTED",
            "outdegree": "1", "destinations": "&right", "destweights": "MPI_UNWEIGHTED"}),
    Recipe(r"MPI_Dist_graph_neighbors",
           {"comm": "web", "maxindegree": "1", "maxoutdegree": "1",
            "sourceweights": "MPI_UNWEIGHTED", "destweights": "MPI_UNWEIGHTED"}),
    Recipe(r"MPI_Dist_graph_neighbors_count", {"comm": "web"}),
    Recipe(r"MPI_Topo_test"),
]

GROUPS = [
    Recipe(r"MPI_Group_(size|rank|compare|union|intersection|difference)"),
    Recipe(r"MPI_Group_(incl|excl)", {"n": "2", "ranks": "first_and_last"}),
    Recipe(r"MPI_Group_range_(incl|excl)", {"n": "1", "ranges": "range"}),
    Recipe(r"MPI_Group_free", {}, "MPI_Comm_group(MPI_COMM_WORLD, &made_group);"),
    Recipe(r"MPI_Group_translate_ranks", {"n": "2", "ranks1": "first_and_last"}),
    Recipe(r"MPI_Group_from_session_pset", {"session": "session", "pset_name": '"mpi://WORLD"'},
           "MPI_Session session; MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);",
           "MPI_Session_finalize(&session);"),
]

HOLDING = "MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);"
LETTING_GO = "MPI_Win_unlock(right, window);"
POSTED = "MPI_Win_post(neighbours, 0, window);"
STARTED = "MPI_Win_start(neighbours, 0, window);"
COMPLETED = "MPI_Win_complete(window);"
WAITED = "MPI_Win_wait(window);"
SPARE_WIN = (
    "MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &spare_win);"
)
SET_WIN_ATTRIBUTE = "MPI_Win_set_attr(window, win_keyval, &attribute);"
GET_WIN_ATTRIBUTE = (
    "MPI_Win_get_attr(window, win_keyval, &pointer, &numbers[0]);"
    'say("set", numbers[0] && pointer == &attribute);'
)
WINDOWS = [
    Recipe(r"MPI_Win_(allocate|allocate_shared)", {"size": "BYTES", "baseptr": "&pointer"}),
    Recipe(r"MPI_Win_create", {"base": "attached", "size": "BYTES"}),
    Recipe(r"MPI_Win_create_dynamic|MPI_Win_get_group"),
    Recipe(r"MPI_Win_attach", {"win": "dynamic_window", "base": "attached", "size": "BYTES"}, "",
           "MPI_Win_detach(dynamic_window, attached);"),
    Recipe(r"MPI_Win_detach", {"win": "dynamic_window", "base": "attached"},
           "MPI_Win_attach(dynamic_window, attached, BYTES);"),
    Recipe(r"MPI_Win_free", {"win": "&spare_win"}, SPARE_WIN,
           'say("freed", spare_win == MPI_WIN_NULL);'),
    Recipe(r"MPI_Win_shared_query",
           {"win": "shared_window", "rank": "right", "baseptr": "&pointer"}, "",
           'say("found", pointer != NULL);'),
    Recipe(r"MPI_Win_fence"),
    Recipe(r"MPI_Win_lock", {"lock_type": "MPI_LOCK_SHARED", "rank": "right"}, "", LETTING_GO),
    Recipe(r"MPI_Win_unlock", {"rank": "right"}, HOLDING),
    Recipe(r"MPI_Win_lock_all", {}, "", "MPI_Win_unlock_all(window);"),
    Recipe(r"MPI_Win_unlock_all", {}, "MPI_Win_lock_all(0, window);"),
    Recipe(r"MPI_Win_flush(_local)?(_all)?|MPI_Win_sync", {"rank": "right"},
           "MPI_Win_lock_all(0, window);", "MPI_Win_unlock_all(window);"),
    Recipe(r"MPI_Win_post", {"group": "neighbours"}, "", STARTED + COMPLETED + WAITED),
    Recipe(r"MPI_Win_start", {"group": "neighbours"}, POSTED, COMPLETED + WAITED),
    Recipe(r"MPI_Win_complete", {}, POSTED + STARTED, WAITED),
    Recipe(r"MPI_Win_wait", {}, POSTED + STARTED + COMPLETED),
    Recipe(r"MPI_Win_test", {}, POSTED + STARTED + COMPLETED, until="numbers[0]"),
    Recipe(r"MPI_Win_get_info", {}, silent=("info_used",)),
    Recipe(r"MPI_Win_set_info", {"info": "hints"}),
    Recipe(r"MPI_Win_(get|set)_name", {}, 'MPI_Win_set_name(window, "of calls");'),
    Recipe(r"MPI_Win_set_attr", {"attribute_val": "&attribute"}, "", GET_WIN_ATTRIBUTE),
    Recipe(r"MPI_Win_get_attr", {"attribute_val": "&pointer"}, SET_WIN_ATTRIBUTE,
           'say("own", pointer == &attribute);'),
    Recipe(r"MPI_Win_delete_attr", {}, SET_WIN_ATTRIBUTE, GET_WIN_ATTRIBUTE),
    Recipe(r"MPI_Win_(call|get|set)_errhandler"),
    Recipe(r"MPI_R(put|get|accumulate|get_accumulate)", {}, "open_window();", "close_window();"),
    Recipe(r"MPI_(Put|Get|Accumulate|Get_accumulate|Fetch_and_op|Compare_and_swap)", {},
           "open_window();", "close_window();"),
]

# All ranks share one pointer: no rank moves it while another still uses it.
SEEK_SHARED = "MPI_Barrier(MPI_COMM_WORLD); MPI_File_seek_shared(file, {}, MPI_SEEK_SET);"
IN_ORDER = SEEK_SHARED.format("0")
UNORDERED = SEEK_SHARED.format("SHARED")
IN_OWN_PLACE = "MPI_File_seek(file, rank * 8, MPI_SEEK_SET);"
END = "MPI_File_{}_end(file, {}, &status); say_count();"
BEGIN = "MPI_File_{}_begin(file, {}{}, 2, MPI_INT);"
OWN_PLACE = "rank * 8, "
FILES = [
    Recipe(r"MPI_File_open",
           {"filename": '"spare"', "amode": "MPI_MODE_CREATE | MPI_MODE_RDWR"}),
    Recipe(r"MPI_File_close", {"fh": "&spare_file"},
           'MPI_File_open(MPI_COMM_WORLD, "spare", MPI_MODE_CREATE | MPI_MODE_RDWR,'
           " MPI_INFO_NULL, &spare_file);",
           'say("closed", spare_file == MPI_FILE_NULL);'),
    *[
        Recipe(f"MPI_File_{verb}_{kind}{half}",
               {},
               (IN_ORDER if kind == "ordered" else IN_OWN_PLACE)
               + (BEGIN.format(f"{verb}_{kind}", OWN_PLACE if kind == "at_all" else "", buffer)
                  if half == "_end" else ""),
               (END.format(f"{verb}_{kind}", buffer) if half == "_begin" else "")
               + ("say_file_at(8 * rank);" if verb == "write" else 'say_buffer("got", got);'),
               silent=("buf",))
        for verb, buffer in (("read", "got"), ("write", "given"))
        for kind in ("at_all", "all", "ordered")
        for half in ("_begin", "_end")
    ],
    Recipe(r"MPI_File_read_ordered", {}, IN_ORDER),
    Recipe(r"MPI_File_write_ordered", {}, IN_ORDER, "say_file_at(8 * rank);"),
    Recipe(r"MPI_File_i?read_shared", {}, UNORDERED),
    Recipe(r"MPI_File_i?write_shared", {"buf": "alike"}, UNORDERED, "say_file_at(SHARED);"),
    Recipe(r"MPI_File_i?read(_at)?(_all)?", {}, IN_OWN_PLACE),
    Recipe(r"MPI_File_i?write(_at)?(_all)?", {}, IN_OWN_PLACE, "say_file_at(8 * rank);"),
    Recipe(r"MPI_File_seek_shared", {"offset": "16"}, "MPI_Barrier(MPI_COMM_WORLD);"),
    Recipe(r"MPI_File_get_position_shared", {},
           SEEK_SHARED.format("24"), "MPI_Barrier(MPI_COMM_WORLD);"),
    Recipe(r"MPI_File_(seek|get_position|get_byte_offset)", {}, IN_OWN_PLACE),
    Recipe(r"MPI_File_(set_size|preallocate)", {"size": "4096"}, "",
           "MPI_File_get_size(file, &offsets[7]); say(\"size\", offsets[7]);"),
    Recipe(r"MPI_File_set_view",
           {"disp": "0", "etype": "MPI_BYTE", "filetype": "MPI_BYTE", "datarep": '"native"'}),
    Recipe(r"MPI_File_set_info", {"info": "hints"}),
    Recipe(r"MPI_File_(get_size|get_group|get_amode|get_info|get_view|get_type_extent"
           r"|set_atomicity|get_atomicity|sync|(call|set|get)_errhandler)"),
]

# A handle, converted to Fortran's and back.
CONVERSIONS = re.compile(
    r"MPI_(?P<kind>Comm|Group|Win|File)_(c2f|f2c|toint|fromint)$"
)

RECIPES = [
    (re.compile(recipe.pattern), recipe)
    for recipe in (
        *POINT_TO_POINT, *COLLECTIVES, *COMMUNICATORS, *TOPOLOGIES, *GROUPS, *WINDOWS, *FILES,
    )
]


def recipe_of(name):
    """Return the recipe of a function, or None."""
    base = name.removesuffix("_c")
    for pattern, recipe in RECIPES:
        if pattern.fullmatch(base) or pattern.fullmatch(lowered(base)):
            return recipe
    return None


def lowered(name):
    """Return a name with its first letter after the prefix in lower case: MPI_bcast."""
    prefix, _, rest = name.partition("_")
    return f"{prefix}_{rest[0].lower()}{rest[1:]}"
