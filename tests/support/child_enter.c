/* child_enter NAMESPACE DIR COMMAND [ARG...]: runs it in DIR of a mount namespace, as the agent enters one. */
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int mounts = argc > 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    int user = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);

    if (user >= 0 && setns(user, CLONE_NEWUSER) == 0 && setns(mounts, CLONE_NEWNS) == 0 &&
            chdir(argv[2]) == 0)
        (void)execvp(argv[3], argv + 3);
    perror("child_enter");
    return 127;
}
